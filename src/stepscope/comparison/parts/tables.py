"""Tables of a comparison: what a step is made of, level by level."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from stepscope.comparison.parts.amounts import BESIDE, CERTAIN, Amount, StepCounts, beside
from stepscope.model.schema import TableSchema, text
from stepscope.model.table import Table

STEP_PARTS: Final = TableSchema(
    "step_parts",
    "What a step is made of: one row per part and detail. base_ns and new_ns add up to the mean step of either side.",
    (
        text("part", "compute, exposed_communication, exposed_copy, idle.CAUSE as in `idle_causes`; host where no "
             "device is recorded."),
        text("detail", "What within the cause; null where there is no further split.", nullable=True),
        *BESIDE[:4],
        *CERTAIN,
    ),
)  # fmt: skip
STEP_PHASES: Final = TableSchema(
    "step_phases",
    "The step by phase of the program. base_ns and new_ns add up to the mean step of either side.",
    (
        text("phase", "As in `phases`."),
        text("kind", "busy (device work launched in the phase), idle (the device did nothing while the host was in "
             "it); host where no device is recorded."),
        *BESIDE[:4],
        *CERTAIN,
    ),
)  # fmt: skip
COMPUTE_CLASSES: Final = TableSchema(
    "compute_classes",
    "Compute by class of kernels. base_ns and new_ns add up to the part compute; of kernels that overlap, the one that "
    "started first counts.",
    (
        text("op_class", "As in `kernels`."),
        text("phase", "Phase in which it was launched, as in `phases`; null where that is not known.", nullable=True),
        *BESIDE,
        *CERTAIN,
    ),
)
COMPUTE_OPERATORS: Final = TableSchema(
    "compute_operators",
    "Compute by the innermost operator that launched it. base_ns and new_ns add up to the part compute.",
    (text("operator", "The operator, or `(no operator)`."), *BESIDE, *CERTAIN),
)
COMPUTE_KERNELS: Final = TableSchema(
    "compute_kernels",
    "Compute by kernel, below the operator that launched it, where kernels of different vendors meet. base_ns and "
    "new_ns add up to the part compute.",
    (text("operator", "The operator, or `(no operator)`."), text("kernel", "The kernel."),
     text("op_class", "Its class."), *BESIDE, *CERTAIN),
)  # fmt: skip
EXPOSED_WORK: Final = TableSchema(
    "exposed_work",
    "Collectives and copies as far as they are exposed, by name. base_ns and new_ns add up to the parts "
    "exposed_communication and exposed_copy.",
    (text("part", "exposed_communication or exposed_copy."),
     text("operator", "The operator that launched it, or `(no operator)`."), text("kernel", "Its name."),
     text("op_class", "Its class."), *BESIDE, *CERTAIN),
)  # fmt: skip


def table_of_amounts(
    schema: TableSchema, base: Mapping[Any, Amount], new: Mapping[Any, Amount], times: StepCounts | tuple[int, int]
) -> Table:
    """A table of both sides by keys that are the schema's first columns; the others are `BESIDE` and `CERTAIN`."""
    rows = beside(base, new, times)
    values = len(schema.columns) - len(rows[0].key) - len(CERTAIN) if rows else 0
    return Table.from_rows(schema, [(*row.key, *row.values[:values], *row.interval) for row in rows])
