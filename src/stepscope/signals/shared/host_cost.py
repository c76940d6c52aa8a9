"""Host time of device operations: of the operators that call them, or of the calls that launch them."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import pairwise
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from stepscope.analyses.stepgraph import StepGraph
from stepscope.analyses.stepgraph.whatif.changes import all_launches
from stepscope.model.errors import MissingInputError
from stepscope.model.events.change import Change, Scaled, Stretches
from stepscope.model.events.columns import Spans, named
from stepscope.model.trace import Trace
from stepscope.signals.shared.operations import Ids, Operations, operations
from stepscope.signals.shared.patterns import Ranges, members
from stepscope.signals.signal import Signals

#: Operators that are parts of others: the outermost of these around a call is the call's whole cost to the host.
_PARTS: Final = re.compile(r"(aten|npu)::|autograd::engine::evaluate_function: |\w+Backward\d*\Z", re.ASCII)
#: So many operators lie within each other at most.
_DEEPEST: Final = 32
#: Between two calls of a sequence, a host does no more than this and twice what it does in them: else something else
#: goes on there.
_BETWEEN_NS: Final = 50_000


def outermost(trace: Trace, operators: Ids, work: Ids) -> Ids:
    """The outermost operator around each of these that launches given work and nothing else.

    Args:
        trace: The trace of one rank.
        operators: int64[n], events.
        work: Device activities.

    Returns:
        int64[n]; -1 where the operator itself launches something else, or nothing of it.
    """
    spans, part = Spans(trace), trace.once(_parts)
    wholly = _wholly(trace, work)
    rows = spans.rows(operators)
    known = np.flatnonzero(rows >= 0)
    left = known[wholly(rows[known])]
    found: Ids = np.full(operators.size, -1)
    found[left] = operators[left]
    left = left[part[rows[left]]]
    around = rows[left]
    for _ in range(_DEEPEST):
        around = spans.around[around]
        deeper = (around >= 0) & part[around]
        deeper[deeper] = wholly(around[deeper])
        if not deeper.any():
            break
        left, around = left[deeper], around[deeper]
        found[left] = spans.id[around]
    return found


def _wholly(trace: Trace, work: Ids) -> Callable[[NDArray[Any]], NDArray[np.bool_]]:
    """A test of positions in `Spans`: whether these events launch some of this work, and nothing else."""
    spans, launches = Spans(trace), trace.once(all_launches)
    order = np.lexsort((launches.ts, launches.track))
    track, ts = launches.track[order], launches.ts[order]
    mine = np.isin(launches.event[order], work)
    before = np.concatenate(([0], np.cumsum(mine)))
    threads, low = np.unique(track, return_index=True)
    bounds = dict(zip(threads.tolist(), pairwise([*low.tolist(), track.size]), strict=True))

    def test(rows: NDArray[Any]) -> NDArray[np.bool_]:
        found = np.zeros(rows.size, np.bool_)
        for thread in np.unique(spans.track[rows]).tolist():
            here = np.flatnonzero(spans.track[rows] == thread)
            lo, hi = bounds.get(thread, (0, 0))
            starts, lasted = spans.ts[rows[here]], np.maximum(spans.dur[rows[here]], 0)
            first, last = (lo + np.searchsorted(ts[lo:hi], times) for times in (starts, starts + lasted))
            found[here] = (last > first) & (before[last] - before[first] == last - first)
        return found

    return test


def _parts(trace: Trace) -> NDArray[np.bool_]:
    """Whether events are operators that are parts of others, bool[n] in the order of `Spans`."""
    return named(trace, _PARTS.match)


def one_call(s: Signals, found: Ranges, fewer: NDArray[np.int64] | None = None) -> Change:
    """Divide the host time of each sequence by the number of its operations, or by `fewer` (int64[n]) if given.

    That is the time from the first call to the end of the last, with the interpreter's time between them; where other
    work interleaves, that of the calls only.
    """
    w = s(operations)
    if not found.first.size:
        return Change()
    calls, of = _calls(s.trace, w, found)
    if not calls.size:
        return Change()
    ids, which = np.unique(calls, return_inverse=True)
    spans = Spans(s.trace)
    at = spans.rows(ids)[which]
    track, starts = spans.track[at], spans.ts[at]
    ends = starts + np.maximum(spans.dur[at], 0)
    n = found.first.size
    start, stop, busy = np.full(n, np.iinfo(np.int64).max), np.zeros(n, np.int64), np.zeros(n, np.int64)
    np.minimum.at(start, of, starts)
    np.maximum.at(stop, of, ends)
    np.add.at(busy, of, ends - starts)
    lengths = found.last - found.first + 1
    foreign = np.zeros(n, np.bool_)
    foreign[of[~np.isin(track, _interleaved(s.trace))]] = True
    whole = ~foreign & (stop - start <= 3 * busy + _BETWEEN_NS * lengths) & (stop > start)
    parts, stretches = [], []
    by = lengths if fewer is None else fewer
    for one in np.unique(by).tolist():
        mine = whole & (by == one)
        if mine.any():
            stretches.append(Stretches(start[mine], stop[mine], 1 / one))
        others = calls[~whole[of] & (by[of] == one)]
        if others.size:
            parts.append(Scaled(np.unique(others), 1 / one))
    return Change(host=tuple(parts), time=tuple(stretches))


def _calls(trace: Trace, w: Operations, found: Ranges) -> tuple[Ids, Ids]:
    """Outermost operators that do only these operations, else launches of kernels; and the sequence of each."""
    units, of = members(found)
    whole = outermost(trace, w.op[units], w.kernels[w.within(units)])
    known = whole >= 0
    bare = units[~known]
    at = w.within(bare)
    alone = _launched_alone(w, at)
    calls = np.append(whole[known], w.launches[at[alone]])
    return calls, np.append(of[known], np.repeat(of[~known], w.first[bare + 1] - w.first[bare])[alone])


def _launched_alone(w: Operations, kernels: Ids) -> NDArray[np.bool_]:
    """Whether each kernel was launched by a call that launched only these, which excludes graphs."""
    launches, which, wanted = np.unique(w.launches[kernels], return_inverse=True, return_counts=True)
    at = np.minimum(np.searchsorted(launches, w.launches), max(launches.size - 1, 0))
    total = np.bincount(at[launches[at] == w.launches], minlength=launches.size) if launches.size else wanted
    alone: NDArray[np.bool_] = ((total == wanted) & (launches >= 0))[which]
    return alone


def _interleaved(trace: Trace) -> list[int]:
    """Tracks of the threads that take turns with the main one, whose host time changes may scale."""
    try:
        return list(StepGraph.of(trace).built.threads.woven)
    except MissingInputError:
        return []
