"""Between what a measured step and its memory are to be expected: how far published runs lie off.

Measured over predicted, from the 5th to the 95th percentile, of runs that the formulas were not developed on: the third
to the fifth set of the benchmark (`bench/plan`), for mixtures of experts with those of the second, too, and of memory
without InternEvo's, whose state is that of no framework that is known here. They vary with what a plan does not know:
versions of kernels and frameworks, networks, other jobs.
"""

from __future__ import annotations

from typing import Final

from stepscope.planning.family.shape import ModelShape
from stepscope.planning.result import JudgedPlan

#: Of steps, without and with experts; of memory.
STEP: Final = (0.89, 1.38)
MIXTURE: Final = (0.82, 1.70)
MEMORY: Final = (0.77, 1.29)


def step_share(shape: ModelShape) -> tuple[float, float]:
    """Between which multiples of a predicted step nine in ten measured ones lay."""
    return MIXTURE if shape.experts else STEP


def step_range(plan: JudgedPlan, shape: ModelShape) -> tuple[int, int]:
    """Nanoseconds between which nine in ten such steps lay."""
    low, high = step_share(shape)
    return round(low * plan.step_ns), round(high * plan.step_ns)


def memory_range(plan: JudgedPlan) -> tuple[int, int]:
    """Bytes between which what the allocator reserved lay in nine in ten runs."""
    low, high = MEMORY
    return round(low * plan.memory.allocated_bytes), round(high * plan.memory.allocated_bytes)
