"""Tables of a comparison by what they split: the views of the page's *Differences*."""

from __future__ import annotations

from typing import Any, Final

from stepscope.comparison.result import Comparison
from stepscope.language import said

#: Name in the address, title, and tables; a test holds that no table of comparisons is left out.
SPLITS: Final[tuple[tuple[str, str, tuple[str, ...]], ...]] = (
    ("classes", said("Classes"), ("compute_classes",)),
    ("modules", said("Modules"), ("compute_module_classes", "compute_modules")),
    ("operators", said("Operators"), ("compute_operators",)),
    ("calls", said("Calls"), ("compute_calls",)),
    ("kernels", said("Kernels"), ("compute_kernels", "kernel_shapes", "kernel_types")),
    ("each", said("Times per call"), ("times_per_call",)),
    ("servers", said("Servers"), ("served_roles",)),
    ("ranks", said("Ranks"), ("job_worst", "job_ranks", "job_groups")),
    ("communication", said("Communication and copies"), ("communication", "exposed_work")),
    ("memory", said("Memory"), ("memory", "memory_calls", "memory_peak")),
    ("host", said("Host"), ("api", "runtime_calls")),
    ("steps", said("Steps"), ("step_figures", "steps_left_out")),
    ("phases", said("Parts and phases"), ("step_parts", "step_phases")),
    ("findings", said("Findings"), ("findings",)),
    ("overall", said("Overall"), ("overall",)),
)


def shown_splits(comparison: Comparison) -> list[dict[str, Any]]:
    """The views that have rows, as JSON values."""
    views = (
        {"id": key, "title": title, "tables": [name for name in names if comparison.tables.get(name)]}
        for key, title, names in SPLITS
    )
    return [view for view in views if view["tables"]]
