"""What operations cost the host: the operators that call them, or the calls that launch them."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from stepscope.analyses.stepgraph import Change, Scaled, StepGraph, Stretches
from stepscope.model.errors import MissingInputError
from stepscope.model.trace import Trace
from stepscope.signals.patterns import Ranges, members
from stepscope.signals.signal import Signals
from stepscope.signals.work import Ids, Work, work

#: Operators that are parts of others: the outermost of these around a call is the call's whole cost to the host.
_PARTS_SQL: Final = """
SELECT name_id FROM names
WHERE name LIKE 'aten::%' OR name LIKE 'npu::%' OR name LIKE 'autograd::engine::evaluate_function: %'
    OR regexp_matches(name, '^\\w+Backward\\d*$')
"""
_OUTERMOST_SQL: Final = """
WITH RECURSIVE up(id, node, height) AS (
    SELECT id, id, 0 FROM (SELECT unnest($ids) AS id)
    UNION ALL
    SELECT up.id, p.id, height + 1 FROM up JOIN spans s ON s.id = up.node JOIN spans p ON p.id = s.parent
    WHERE p.name_id IN (SELECT unnest($parts)) AND height < 12
)
SELECT id, arg_max(node, height) AS outermost FROM up GROUP BY id ORDER BY id
"""
_TIMES_SQL: Final = """
SELECT id, track, ts, ts + coalesce(dur, 0) AS stop FROM spans WHERE id IN (SELECT unnest($ids)) ORDER BY id
"""
#: Between two calls of a sequence, a host does no more than this and twice what it does in them: else something else
#: goes on there.
_BETWEEN_NS: Final = 50_000


def outermost(trace: Trace, operators: Ids) -> Ids:
    """The outermost operator that each of these is a part of."""
    ids, which = np.unique(operators, return_inverse=True)
    if not ids.size:
        return ids
    parts = trace.columns(_PARTS_SQL)["name_id"].tolist()
    found: Ids = trace.columns(_OUTERMOST_SQL, {"ids": ids.tolist(), "parts": parts})["outermost"]
    return found[which]


def one_call(s: Signals, found: Ranges) -> Change:
    """The host's time for each sequence is divided by the number of its operations.

    That is the time from the first call to the end of the last, with the interpreter's between them; where other things
    go on there, that of the calls only.
    """
    w = s(work)
    if not w.on_device or not found.first.size:
        return Change()
    calls, of = _calls(s.trace, w, found)
    if not calls.size:
        return Change()
    ids, which = np.unique(calls, return_inverse=True)
    times = s.trace.columns(_TIMES_SQL, {"ids": ids.tolist()})
    track, starts, ends = (times[name][which] for name in ("track", "ts", "stop"))
    n = found.first.size
    begin, stop, busy = np.full(n, np.iinfo(np.int64).max), np.zeros(n, np.int64), np.zeros(n, np.int64)
    np.minimum.at(begin, of, starts)
    np.maximum.at(stop, of, ends)
    np.add.at(busy, of, ends - starts)
    lengths = found.last - found.first + 1
    foreign = np.zeros(n, np.bool_)
    foreign[of[~np.isin(track, _interleaved(s.trace))]] = True
    whole = ~foreign & (stop - begin <= 3 * busy + _BETWEEN_NS * lengths) & (stop > begin)
    parts, stretches = [], []
    for length in np.unique(lengths).tolist():
        mine = whole & (lengths == length)
        if mine.any():
            stretches.append(Stretches(begin[mine], stop[mine], 1 / length))
        others = calls[~whole[of] & (lengths[of] == length)]
        if others.size:
            parts.append(Scaled(np.unique(others), 1 / length))
    return Change(host=tuple(parts), time=tuple(stretches))


def _calls(trace: Trace, w: Work, found: Ranges) -> tuple[Ids, Ids]:
    """Outermost operators of all operations, or launches of kernels that have none; and the sequence of each."""
    units, of = members(found)
    known = w.op[units] >= 0
    bare = units[~known]
    at = w.within(bare)
    alone = _launched_alone(w, at)
    calls = np.append(outermost(trace, w.op[units[known]]), w.launches[at[alone]])
    return calls, np.append(of[known], np.repeat(of[~known], w.first[bare + 1] - w.first[bare])[alone])


def _launched_alone(w: Work, kernels: Ids) -> NDArray[np.bool_]:
    """Which of these kernels were launched by a call that launched none but these, as a graph's were not."""
    launches, which, wanted = np.unique(w.launches[kernels], return_inverse=True, return_counts=True)
    at = np.minimum(np.searchsorted(launches, w.launches), max(launches.size - 1, 0))
    total = np.bincount(at[launches[at] == w.launches], minlength=launches.size) if launches.size else wanted
    alone: NDArray[np.bool_] = ((total == wanted) & (launches >= 0))[which]
    return alone


def _interleaved(trace: Trace) -> list[int]:
    """Tracks of the threads that take turns with the main one, whose stretches of time can be changed."""
    try:
        return list(StepGraph.of(trace).built.threads.woven)
    except MissingInputError:
        return []
