"""Tables of a comparison by what they split: the views of the page's *Differences*."""

from __future__ import annotations

from typing import Any, Final

from stepscope.comparison.result import Comparison

#: Name in the address, title, and tables; a test holds that no table of comparisons is left out.
SPLITS: Final[tuple[tuple[str, str, tuple[str, ...]], ...]] = (
    ("classes", "Classes", ("compute_classes",)),
    ("modules", "Modules", ("compute_module_classes", "compute_modules")),
    ("operators", "Operators", ("compute_operators",)),
    ("calls", "Calls", ("compute_calls",)),
    ("kernels", "Kernels", ("compute_kernels", "kernel_shapes", "kernel_types")),
    ("each", "Times per call", ("times_per_call",)),
    ("servers", "Servers", ("served_roles",)),
    ("ranks", "Ranks", ("job_worst", "job_ranks", "job_groups")),
    ("communication", "Communication and copies", ("communication", "exposed_work")),
    ("memory", "Memory", ("memory", "memory_calls", "memory_peak")),
    ("host", "Host", ("api", "runtime_calls")),
    ("steps", "Steps", ("step_figures", "steps_left_out")),
    ("phases", "Parts and phases", ("step_parts", "step_phases")),
    ("findings", "Findings", ("findings",)),
    ("overall", "Overall", ("overall",)),
)


def shown_splits(comparison: Comparison) -> list[dict[str, Any]]:
    """The views that have rows, as JSON values."""
    views = (
        {"id": key, "title": title, "tables": [name for name in names if comparison.tables.get(name)]}
        for key, title, names in SPLITS
    )
    return [view for view in views if view["tables"]]
