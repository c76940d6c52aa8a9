"""Both sides beside each other in host time and collectives."""

from __future__ import annotations

from collections import defaultdict
from typing import Any, Final

import numpy as np

from stepscope.analyses.host.operator_calls import operator_calls
from stepscope.analyses.shared.grouping import Groups, texts
from stepscope.analyses.shared.needs import need_calls
from stepscope.comparison.parts.amounts import BESIDE, CERTAIN, Amount, StepCounts, beside
from stepscope.comparison.parts.batches import StepBatches
from stepscope.comparison.parts.durations import BESIDE_DURATIONS, Durations, merged
from stepscope.comparison.side import ComparedSide, within
from stepscope.model.categories import CATEGORIES
from stepscope.model.errors import MissingInputError
from stepscope.model.events.columns import Spans
from stepscope.model.schema import TableSchema, ns, text
from stepscope.model.table import Table

API: Final = TableSchema(
    "api",
    "Host time by operator, per step, the largest difference first. base_ns and new_ns include inner operators.",
    (text("name", "The operator."), *BESIDE, ns("base_self_ns", "The part of base_ns in no inner operator."),
     ns("new_self_ns", "The part of new_ns in no inner operator."), *CERTAIN),
)  # fmt: skip
COMMUNICATION: Final = TableSchema(
    "communication",
    "Collectives, and the tasks that they consist of where these are recorded, per step: sums of durations, whether "
    "compute hides them or not.",
    (text("name", "The collective."), text("task", "Kind of task, as in `comm_tasks`; null for the collectives.",
                                           nullable=True), *BESIDE_DURATIONS),
)  # fmt: skip
RUNTIME_CALLS: Final = TableSchema(
    "runtime_calls",
    "Host time in calls of the device's runtime and driver, per step, the largest difference first; a call made inside "
    "another one has its own row.",
    (text("name", "The call."), text("category", "launch, sync or runtime, as in `api_calls`."), *BESIDE, *CERTAIN),
)
_CALLS: Final = ("runtime", "launch", "sync")
_SUMS: Final = (
    "sum(coalesce(d.dur, 0)), count(*), max(coalesce(d.dur, 0)), min(coalesce(d.dur, 0)), "
    "sum(coalesce(d.dur, 0)::DOUBLE ** 2)"
)
_COLLECTIVES_SQL: Final = f"""
SELECT c.collective, NULL, d.step, {_SUMS} FROM collectives c JOIN kernels d USING (event)
WHERE list_contains($steps, d.step) GROUP BY 1, 3
"""
_TASKS_SQL: Final = f"""
SELECT c.collective, t.kind, k.step, {_SUMS} FROM comm_tasks t JOIN spans d ON d.id = t.event
JOIN collectives c ON c.event = t.collective JOIN kernels k ON k.event = c.event
WHERE list_contains($steps, k.step) GROUP BY 1, 2, 3
"""


def host_time(side: ComparedSide) -> tuple[dict[Any, Amount], dict[Any, Amount]]:
    """Host time of each operator within a side's steps, with inner operators and without.

    Raises:
        MissingInputError: The side has no operators.
    """
    trace, batches = within(side), StepBatches.of(side)
    calls = trace.once(operator_calls)
    spans, groups = Spans(trace), Groups.by(calls.name)
    batch = batches.at_host(spans.ts[spans.rows(calls.id)])
    names = texts(trace, calls.name[groups.first])
    found: list[dict[Any, Amount]] = []
    for values in (np.where(calls.outermost, calls.dur, 0), calls.self_ns):
        sums: defaultdict[Any, Amount] = defaultdict(Amount)
        for name, one in zip(names, batches.amounts(groups.index, batch, values, groups.count), strict=True):
            sums[(name or "",)] += one
        found.append(dict(sums))
    return found[0], found[1]


def api_table(
    first: tuple[dict[Any, Amount], dict[Any, Amount]], second: tuple[dict[Any, Amount], dict[Any, Amount]],
    times: StepCounts,
) -> Table:  # fmt: skip
    """Compare host time by operator.

    Args:
        first: Of the base, from `host_time`.
        second: Of the new side.
        times: Steps of each side.
    """
    selves = {row.key: (row.base_ns, row.new_ns) for row in beside(first[1], second[1], times)}
    rows = [(*row.key, *row.values, *selves[row.key], *row.interval) for row in beside(first[0], second[0], times)]
    return Table.from_rows(API, rows)


def runtime_calls(side: ComparedSide) -> dict[Any, Amount]:
    """Host time in calls of the device's runtime within a side's steps, by name and kind.

    Raises:
        MissingInputError: The recording has none.
    """
    trace, batches, spans = side.trace, StepBatches.of(side), Spans(side.trace)
    need_calls(trace)
    chosen = np.flatnonzero(spans.of(*_CALLS))
    if side.unit not in ("window", "none"):
        chosen = chosen[np.isin(spans.step[chosen], side.steps)]
    groups = Groups.by(spans.name[chosen], spans.category[chosen])
    amounts = batches.amounts(
        groups.index, batches.at_host(spans.ts[chosen]), np.maximum(spans.dur[chosen], 0), groups.count
    )
    at = chosen[groups.first]
    found: defaultdict[Any, Amount] = defaultdict(Amount)
    for name, kind, one in zip(texts(trace, spans.name[at]), spans.category[at].tolist(), amounts, strict=True):
        found[name or "", CATEGORIES[kind]] += one
    return dict(found)


def communication_sums(side: ComparedSide) -> dict[Any, Durations]:
    """Durations of collectives and of their tasks within a side's steps.

    Raises:
        MissingInputError: The recording has no collective.
    """
    steps = {"steps": list(side.steps)}
    rows = [tuple(row.values()) for query in (_COLLECTIVES_SQL, _TASKS_SQL) for row in side.trace.rows(query, steps)]
    if not rows:
        raise MissingInputError.of("collectives")
    return merged(rows, 2, side)
