"""Waits for batches from a loader's workers, which keep their own pace whatever the job does."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stepscope.analyses.shared.host_waits import TAKING_NS
from stepscope.analyses.stepgraph.building import host_calls
from stepscope.analyses.stepgraph.building.host_calls import GraphCalls
from stepscope.model.events.columns import Spans, names_by_id
from stepscope.model.intervals import Times
from stepscope.model.trace import Trace

#: Workers set the pace of a job that waits for them for more than this share of its time. Where they hardly ever hold
#: it up, a wait is an accident that costs what it costs.
_BOUND = 0.1


@dataclass(frozen=True, slots=True)
class Batches:
    """The m batches that the job had to wait for, by time.

    Attributes:
        call: int64[m], positions in `GraphCalls`.
        ready: int64[m], when the batch was there.
        own: int64[m], what taking it takes.
    """

    call: NDArray[np.int64]
    ready: Times
    own: Times


def awaited_batches(trace: Trace, calls: GraphCalls, lo: int, hi: int) -> Batches:
    """Calls that waited for workers. A loader that works on the host thread itself is no wait."""
    waits = np.flatnonzero(calls.role == host_calls.LOADER)
    none = Batches(waits[:0], calls.ts[:0], calls.ts[:0])
    if not waits.size:
        return none
    waits = waits[~_working(trace, calls, waits)]
    waits = waits[np.argsort(calls.ts[waits], kind="stable")]
    took = calls.end[waits] - calls.ts[waits]
    if not took.size:
        return none
    own = min(int(took.min()), TAKING_NS)
    waited = waits[took - own > own]
    if (took - own).sum() <= _BOUND * (hi - lo):
        return none
    ready = calls.end[waited] - own
    return Batches(waited, ready, np.full(waited.size, own))


def _working(trace: Trace, calls: GraphCalls, waits: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Whether each call loads its batch itself: its name says so, or events are recorded inside it."""
    spans, names = Spans(trace), trace.once(names_by_id)
    found = np.array(["SingleProcess" in names[name_id] for name_id in calls.name[waits].tolist()], np.bool_)
    doing = spans.of("op", "runtime", "launch", "sync") & (spans.dur >= 0)
    for track in np.unique(calls.track[waits]).tolist():
        mine = np.flatnonzero((calls.track[waits] == track) & ~found)
        at = np.flatnonzero(doing & (spans.track == track))
        at = at[np.argsort(spans.ts[at], kind="stable")]
        ends = spans.ts[at] + spans.dur[at]
        for one in mine.tolist():
            start, end = calls.ts[waits[one]], calls.end[waits[one]]
            low, high = np.searchsorted(spans.ts[at], (start, end + 1))
            found[one] = ends[low:high].min(initial=end + 1) <= end
    return found
