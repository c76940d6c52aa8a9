"""Both sides beside each other in host time, collectives and memory."""

from __future__ import annotations

from collections import defaultdict
from typing import Any, Final

from stepscope.analyses.host.operators import operators
from stepscope.analyses.memory.memory_operators import memory_operators
from stepscope.analyses.shared.narrow import Filter, narrowed
from stepscope.comparison.parts.amounts import BESIDE, Amount, beside
from stepscope.comparison.side import ComparedSide
from stepscope.model.errors import MissingInputError
from stepscope.model.schema import Column, TableSchema, ns, text
from stepscope.model.table import Table
from stepscope.model.trace import Trace

API: Final = TableSchema(
    "api",
    "Host time by operator, per step, the largest difference first. base_ns and new_ns include inner operators.",
    (text("name", "The operator."), *BESIDE, ns("base_self_ns", "The part of base_ns in no inner operator."),
     ns("new_self_ns", "The part of new_ns in no inner operator.")),
)  # fmt: skip
COMMUNICATION: Final = TableSchema(
    "communication",
    "Collectives, and the tasks that they consist of where these are recorded, per step: sums of durations, whether "
    "compute hides them or not.",
    (text("name", "The collective."), text("task", "Kind of task, as in `comm_tasks`; null for the collectives.",
                                           nullable=True), *BESIDE),
)  # fmt: skip
MEMORY: Final = TableSchema(
    "memory",
    "Device memory allocated per step by operator, the largest difference first.",
    (
        text("name", "Innermost operator around the allocation; `(no operator)` outside operators."),
        Column("base_bytes", "int64", "Bytes allocated per step of the base.", "bytes"),
        Column("new_bytes", "int64", "The same of the new one.", "bytes"),
        Column("diff_bytes", "int64", "new_bytes - base_bytes.", "bytes"),
        Column("ratio", "float64", "new_bytes / base_bytes; null where base_bytes is 0.", "", True),
        *BESIDE[4:],
    ),
)
_TASKS_SQL: Final = """
SELECT c.collective, t.kind, e.dur, e.step FROM comm_tasks t
JOIN spans e ON e.id = t.event JOIN collectives c ON c.event = t.collective
"""
_COLLECTIVES_SQL: Final = """
SELECT c.collective, k.dur, k.step FROM collectives c JOIN kernels k USING (event)
"""


def host_time(side: ComparedSide) -> list[dict[str, Any]]:
    """Rows of table `operators` within a side's steps.

    Raises:
        MissingInputError: The side has no operators.
    """
    return operators(_within(side)).records()


def api_table(first: list[dict[str, Any]], second: list[dict[str, Any]], times: tuple[int, int]) -> Table:
    """Compare host time by operator.

    Args:
        first: Rows of the base, from `host_time`.
        second: Rows of the new side.
        times: Steps of each side.
    """
    total, own = ([{(row["name"],): Amount(row[column], row["count"]) for row in rows} for rows in (first, second)]
                  for column in ("total_ns", "self_ns"))  # fmt: skip
    selves = {row.key: (row.base_ns, row.new_ns) for row in beside(own[0], own[1], times)}
    rows = [(*row.key, *row.values, *selves[row.key]) for row in beside(total[0], total[1], times)]
    return Table.from_rows(API, rows)


def communication_sums(side: ComparedSide) -> dict[tuple[str, str | None], Amount]:
    """Sums of collectives and their tasks within a side's steps.

    Raises:
        MissingInputError: The recording has no collective.
    """
    sums: defaultdict[tuple[str, str | None], Amount] = defaultdict(Amount)
    wanted = set(side.steps)
    for row in side.trace.rows(_COLLECTIVES_SQL):
        if row["step"] in wanted:
            sums[row["collective"], None] += Amount(row["dur"] or 0, 1)
    if not sums:
        raise MissingInputError.of("collectives")
    for row in side.trace.rows(_TASKS_SQL):
        sums[row["collective"], row["kind"]] += Amount(row["dur"] or 0, 1)
    return dict(sums)


def memory_sums(side: ComparedSide) -> dict[tuple[str], Amount]:
    """Bytes and number of allocations by operator within a side's steps.

    Raises:
        MissingInputError: The recording has no allocations of device memory.
    """
    sums: defaultdict[tuple[str], Amount] = defaultdict(Amount)
    for row in memory_operators(_within(side)).records():
        sums[(row["name"] or "(no operator)",)] += Amount(row["bytes"], row["count"])
    return dict(sums)


def memory_table(base: dict[Any, Amount], new: dict[Any, Amount], times: tuple[int, int]) -> Table:
    """Compare allocations by operator."""
    return Table.from_rows(MEMORY, [(*row.key, *row.values) for row in beside(base, new, times)])


def _within(side: ComparedSide) -> Trace:
    """The side's steps alone; of a recording without steps all of it."""
    return side.trace if side.unit in ("window", "none") else narrowed(side.trace, Filter(steps=side.steps))
