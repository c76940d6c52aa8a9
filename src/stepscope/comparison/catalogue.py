"""All tables of comparisons, in the order of pages."""

from __future__ import annotations

from typing import Final

from stepscope.comparison.findings import FINDINGS
from stepscope.comparison.matching.tree_tables import (
    COMPUTE_CALLS,
    COMPUTE_MODULE_CLASSES,
    COMPUTE_MODULES,
    MEMORY_CALLS,
)
from stepscope.comparison.parts.allocations import MEMORY
from stepscope.comparison.parts.besides import API, COMMUNICATION, RUNTIME_CALLS
from stepscope.comparison.parts.kernel_sums import KERNEL_SHAPES, KERNEL_TYPES
from stepscope.comparison.parts.overall import OVERALL
from stepscope.comparison.parts.peak import MEMORY_PEAK
from stepscope.comparison.parts.per_call import PER_CALL
from stepscope.comparison.parts.served import SERVED_ROLES
from stepscope.comparison.parts.tables import (
    COMPUTE_CLASSES,
    COMPUTE_KERNELS,
    COMPUTE_OPERATORS,
    EXPOSED_WORK,
    STEP_PARTS,
    STEP_PHASES,
)
from stepscope.comparison.steps.figures import LEFT_OUT, STEP_FIGURES
from stepscope.comparison.sweep.tables import SWEEP, SWEEP_PARTS

COMPARISON_TABLES: Final = (
    STEP_FIGURES, LEFT_OUT, STEP_PARTS, STEP_PHASES, SERVED_ROLES, FINDINGS,
    COMPUTE_CLASSES, COMPUTE_MODULE_CLASSES, COMPUTE_MODULES, COMPUTE_OPERATORS,
    COMPUTE_CALLS, COMPUTE_KERNELS, KERNEL_SHAPES, KERNEL_TYPES, COMMUNICATION, EXPOSED_WORK,
    MEMORY, MEMORY_CALLS, MEMORY_PEAK,
    API, RUNTIME_CALLS, PER_CALL, OVERALL, SWEEP, SWEEP_PARTS,
)  # fmt: skip
