"""The user's Python line from which each operator or call was made.

Newer recordings hold Python calls as events that enclose what they call; older ones store a stack on each operator.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stepscope.analyses.shared.callers import Callers, callers
from stepscope.analyses.shared.grouping import texts
from stepscope.model.errors import MissingInputError
from stepscope.model.intervals import distinct
from stepscope.model.trace import Trace

_RECORDED_SQL = """
WITH stacks AS (
    SELECT stack, row_number() OVER () AS code FROM (SELECT DISTINCT stack FROM op_inputs WHERE stack <> '')
)
SELECT i.event, s.code FROM op_inputs i JOIN stacks s USING (stack)
"""
_TEXT_SQL = "SELECT event, stack FROM op_inputs WHERE event IN (SELECT unnest($events))"


@dataclass(frozen=True, slots=True)
class Stacks:
    """The stack of each of n events.

    Attributes:
        code: int64[n], equal for equal stacks, -1 where there is none.
        texts: The stacks with these codes, innermost line first, joined by `;`; None for -1.
    """

    code: NDArray[np.int64]
    texts: Callable[[NDArray[np.int64]], list[str | None]]


def op_stacks(trace: Trace, events: NDArray[np.int64]) -> Stacks:
    """The Python stack of each operator.

    Raises:
        MissingInputError: The recording has no stacks.
    """
    around = trace.once(callers)
    if around is not None:
        return _from_calls(trace, around, events)
    rows = trace.columns(_RECORDED_SQL)
    if not rows["event"].size:
        raise MissingInputError.of("stacks")
    return _from_text(trace, rows, events)


def _from_text(trace: Trace, rows: dict[str, NDArray[Any]], events: NDArray[np.int64]) -> Stacks:
    order = np.argsort(rows["event"])
    at = np.minimum(np.searchsorted(rows["event"], events, sorter=order), order.size - 1)
    found = order[at]
    code = np.where(rows["event"][found] == events, rows["code"][found], -1)
    _, first = np.unique(rows["code"], return_index=True)
    example = dict(zip(rows["code"][first].tolist(), rows["event"][first].tolist(), strict=True))

    def of(codes: NDArray[np.int64]) -> list[str | None]:
        wanted = [example[c] for c in np.unique(codes).tolist() if c >= 0]
        texts = {row["event"]: row["stack"] for row in trace.rows(_TEXT_SQL, {"events": wanted})}
        return [texts[example[c]] if c >= 0 else None for c in codes.tolist()]

    return Stacks(code, of)


def _from_calls(trace: Trace, around: Callers, events: NDArray[np.int64]) -> Stacks:
    innermost = around.nearest_frame(events)
    frames, outer = _frames_above(around, distinct(innermost[innermost >= 0]))
    # A stack is recognised by the stack around it and its own name; outer calls come first, so that theirs is known.
    order = np.argsort(around.depth[frames], kind="stable")
    edges = np.flatnonzero(np.diff(around.depth[frames[order]])) + 1
    code = np.full(around.parent.size, -1)
    up, name = [np.zeros(0, np.int64)], [np.zeros(0, np.int32)]
    known = 0
    for level in np.split(order, edges) if order.size else ():
        above = np.where(outer[level] < 0, -1, code[outer[level]])
        pairs = (above + 1) << 32 | around.name[frames[level]]
        unique, index = np.unique(pairs, return_inverse=True)
        code[frames[level]] = known + index
        up.append((unique >> 32) - 1)
        name.append((unique & 0xFFFFFFFF).astype(np.int32))
        known += unique.size
    ups, names = np.concatenate(up), np.concatenate(name)

    def of(codes: NDArray[np.int64]) -> list[str | None]:
        lines = [str(line) for line in texts(trace, names)]
        return [_joined(c, ups, lines) if c >= 0 else None for c in codes.tolist()]

    return Stacks(np.where(innermost < 0, -1, code[innermost]), of)


def _frames_above(around: Callers, frames: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The given Python calls and all that enclose them, each with its caller."""
    seen = np.zeros(around.parent.size, np.bool_)
    seen[frames] = True
    found, outer = [frames], [around.nearest_frame(frames)]
    while True:
        above = outer[-1]
        new = distinct(above[(above >= 0)])
        new = new[~seen[new]]
        if not new.size:
            return np.concatenate(found), np.concatenate(outer)
        seen[new] = True
        found.append(new)
        outer.append(around.nearest_frame(new))


def _joined(code: int, up: NDArray[np.int64], lines: list[str]) -> str:
    stack = []
    while code >= 0:
        stack.append(lines[code])
        code = int(up[code])
    return ";".join(stack)
