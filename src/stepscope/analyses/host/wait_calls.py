"""Outermost host calls that wait for the device, with what encloses them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stepscope.analyses.shared.callers import callers
from stepscope.analyses.shared.grouping import texts
from stepscope.analyses.shared.host_tree import HostTree, host_trees
from stepscope.analyses.shared.host_waits import waiting_calls
from stepscope.model.intervals import Times
from stepscope.model.trace import Trace

_CATEGORIES = ("op", "module", "annotation", "overhead")
_OVERHEAD = _CATEGORIES.index("overhead")
_LINES_SQL = """
SELECT event, coalesce(list_filter(lines, lambda line: NOT regexp_matches(line, '(^|/)torch/'))[1], lines[1]) AS line
FROM (SELECT event, string_split(stack, ';') AS lines FROM op_inputs WHERE stack <> '')
WHERE event IN (SELECT unnest($events))
"""


@dataclass(frozen=True, slots=True)
class WaitCalls:
    """The n calls that wait.

    Attributes:
        id: int64[n], their events.
        name: int64[n], `name_id`.
        ts: int64[n].
        end: int64[n].
        operator: int64[n], the innermost operator around each, -1 if there is none.
        operator_name: int64[n], its `name_id`, -1 likewise.
        module: int64[n], `name_id` of the innermost module or annotation around each, -1 if there is none.
    """

    id: NDArray[np.int64]
    name: NDArray[np.int64]
    ts: Times
    end: Times
    operator: NDArray[np.int64]
    operator_name: NDArray[np.int64]
    module: NDArray[np.int64]


def outermost_calls(trace: Trace) -> WaitCalls:
    """The calls that wait, without those inside another one."""
    parts = [_calls_in(tree) for tree in host_trees(trace, _CATEGORIES, trace.once(waiting_calls))]
    return WaitCalls(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


def _calls_in(tree: HostTree) -> tuple[NDArray[np.int64], ...]:
    """The outermost calls that wait in a tree, by field of `WaitCalls`."""
    is_call, apart = tree.category < 0, (tree.category < 0) | (tree.category == _OVERHEAD)
    at = np.flatnonzero(is_call & ~tree.inside(apart))
    marked = (tree.category > 0) & (tree.category < _OVERHEAD)
    operator, module = tree.nearest(tree.category == 0)[at], tree.nearest(marked)[at]
    ts, end = tree.ts[at], tree.ts[at] + tree.dur[at]
    around = (_of(tree.id, operator), _of(tree.name, operator), _of(tree.name, module))
    return tree.id[at], tree.name[at].astype(np.int64), ts, end, *around


def _of(values: NDArray[Any], position: NDArray[np.int64]) -> NDArray[np.int64]:
    """Values of the events at these positions, -1 for -1."""
    return np.where(position < 0, -1, values[position]).astype(np.int64)


def lines_of(trace: Trace, calls: WaitCalls) -> tuple[list[str | None], NDArray[np.int64]]:
    """Distinct Python lines, and the index of the one that led to each call, -1 where unknown."""
    around = trace.once(callers)
    if around is not None:
        frame = around.nearest_line(calls.id)
        names, index = np.unique(np.where(frame < 0, -1, around.name[frame]), return_inverse=True)
        return texts(trace, names), np.where(names[index] < 0, -1, index)
    rows = trace.rows(_LINES_SQL, {"events": np.unique(calls.operator).tolist()})
    distinct = sorted({row["line"] for row in rows})
    code = {line: number for number, line in enumerate(distinct)}
    of = {row["event"]: code[row["line"]] for row in rows}
    return list(distinct), np.array([of.get(operator, -1) for operator in calls.operator.tolist()], np.int64)
