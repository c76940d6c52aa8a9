"""Both sides beside each other in host time and collectives."""

from __future__ import annotations

from typing import Any, Final

from stepscope.analyses.host.operators import operators
from stepscope.analyses.shared.narrow import Filter, narrowed
from stepscope.comparison.parts.amounts import BESIDE, Amount, beside
from stepscope.comparison.parts.durations import BESIDE_DURATIONS, Durations, merged
from stepscope.comparison.side import ComparedSide
from stepscope.model.errors import MissingInputError
from stepscope.model.schema import TableSchema, ns, text
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
                                           nullable=True), *BESIDE_DURATIONS),
)  # fmt: skip
_SUMS: Final = "sum(coalesce(d.dur, 0)), count(*), max(coalesce(d.dur, 0)), min(coalesce(d.dur, 0))"
_COLLECTIVES_SQL: Final = f"""
SELECT c.collective, NULL, {_SUMS} FROM collectives c JOIN kernels d USING (event)
WHERE list_contains($steps, d.step) GROUP BY 1
"""
_TASKS_SQL: Final = f"""
SELECT c.collective, t.kind, {_SUMS} FROM comm_tasks t JOIN spans d ON d.id = t.event
JOIN collectives c ON c.event = t.collective JOIN kernels k ON k.event = c.event
WHERE list_contains($steps, k.step) GROUP BY 1, 2
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


def communication_sums(side: ComparedSide) -> dict[Any, Durations]:
    """Durations of collectives and of their tasks within a side's steps.

    Raises:
        MissingInputError: The recording has no collective.
    """
    steps = {"steps": list(side.steps)}
    rows = [tuple(row.values()) for query in (_COLLECTIVES_SQL, _TASKS_SQL) for row in side.trace.rows(query, steps)]
    if not rows:
        raise MissingInputError.of("collectives")
    return merged(rows, 2)


def _within(side: ComparedSide) -> Trace:
    """The side's steps alone; of a recording without steps all of it."""
    return side.trace if side.unit in ("window", "none") else narrowed(side.trace, Filter(steps=side.steps))
