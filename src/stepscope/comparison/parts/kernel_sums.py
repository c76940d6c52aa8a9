"""Kernels of both sides by type: with the shapes of their inputs, and with the core that they ran on."""

from __future__ import annotations

from typing import Any, Final

from stepscope.comparison.parts.durations import BESIDE_DURATIONS, Durations, merged
from stepscope.comparison.side import ComparedSide
from stepscope.model.schema import TableSchema, text

KERNEL_SHAPES: Final = TableSchema(
    "kernel_shapes",
    "Durations of compute kernels per step, by type and shapes of inputs, the largest difference first. Kernels that "
    "overlap count whole, so that the sum may exceed compute.",
    (
        text("kernel", "What the device's library calls the operator; the kernel's name where that is not recorded."),
        text("shapes", "Shapes of its inputs as recorded, or of those of the operator that launched it; null where "
             "not recorded.", nullable=True),
        *BESIDE_DURATIONS,
    ),
)  # fmt: skip
KERNEL_TYPES: Final = TableSchema(
    "kernel_types",
    "Durations of compute kernels per step, by type and core, the largest difference first. Kernels that overlap "
    "count whole.",
    (
        text("type", "What the device's library calls the operator; the class of kernels where that is not recorded."),
        text("core", "Core that it ran on, as recorded; `tensor core` where its name says so; null if unknown.",
             nullable=True),
        *BESIDE_DURATIONS,
    ),
)  # fmt: skip
_SUMS: Final = (
    "k.step, sum(coalesce(k.dur, 0)), count(*), max(coalesce(k.dur, 0)), min(coalesce(k.dur, 0)), "
    "sum(coalesce(k.dur, 0)::DOUBLE ** 2)"
)
_WHERE: Final = "k.kind = 'compute' AND list_contains($steps, k.step) GROUP BY ALL"
#: An NPU's shapes stand with the kernel, a GPU's with the operator that launched it.
_SHAPES_SQL: Final = f"""
SELECT k.op_type, nullif(trim(json_extract_string(e.args, '$."Input Shapes"'), '"'), 'N/A'), {_SUMS}
FROM kernels k JOIN events e ON e.id = k.event WHERE k.op_type IS NOT NULL AND {_WHERE}
"""
_OPERATOR_SHAPES_SQL: Final = f"""
SELECT k.name, i.shapes, {_SUMS} FROM kernels k LEFT JOIN op_inputs i ON i.event = k.op
WHERE k.op_type IS NULL AND {_WHERE}
"""
_TYPES_SQL: Final = f"""
SELECT coalesce(k.op_type, k.op_class, 'other'), coalesce(k.core, CASE WHEN k.tensor_core THEN 'tensor core' END),
    {_SUMS} FROM kernels k WHERE {_WHERE}
"""
_TYPED_SQL: Final = "SELECT count(*) FROM (SELECT 1 FROM kernels WHERE op_type IS NOT NULL LIMIT 1)"


def kernel_shapes(side: ComparedSide) -> dict[Any, Durations]:
    """Durations by kernel and shapes within a side's steps."""
    rows = _rows(side, _OPERATOR_SHAPES_SQL)
    if side.trace.scalar(_TYPED_SQL):
        rows += _rows(side, _SHAPES_SQL)
    return merged(rows, 2, side)


def kernel_types(side: ComparedSide) -> dict[Any, Durations]:
    """Durations by type and core within a side's steps."""
    return merged(_rows(side, _TYPES_SQL), 2, side)


def _rows(side: ComparedSide, query: str) -> list[tuple[Any, ...]]:
    return [tuple(row.values()) for row in side.trace.rows(query, {"steps": list(side.steps)})]
