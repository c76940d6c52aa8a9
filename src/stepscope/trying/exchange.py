"""How much of a step the ranks of a job on processors exchange data, and wait for it; as a recording shows."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from stepscope.model.events.columns import Spans
from stepscope.model.intervals import Intervals
from stepscope.model.trace import Trace

#: Collectives that threads of the host carry out, and the calls by which the loop starts them.
_CARRIED_OUT: Final = """
SELECT s.id::INTEGER AS id FROM spans s JOIN tracks t USING (track) JOIN names n USING (name_id)
WHERE t.kind = 'host' AND s.step IS NOT NULL AND n.name SIMILAR TO '(gloo|mpi):.*'
"""
_CALLS: Final = """
SELECT s.id::INTEGER AS id FROM spans s JOIN names n USING (name_id)
WHERE s.category = 'op' AND s.step IS NOT NULL AND n.name LIKE 'c10d::%'
"""


def host_exchange(trace: Trace) -> tuple[float, int]:
    """What exchanging through the host costs a rank.

    Its cost is the time in which collectives are carried out while the loop's thread computes nothing, since it waits
    for them, and the time of the calls by which it starts them.

    Returns:
        The cost as a share of the steps, and collectives per step; zeros where there are none.
    """
    spans = Spans(trace)
    carried = spans.rows(trace.columns(_CARRIED_OUT)["id"])
    steps = spans.step[spans.step >= 0]
    outer = spans.of("op") & (spans.step >= 0)
    if not carried.size or not outer.any():
        return 0.0, 0
    # The loop's thread computes most: those that carry collectives out do nothing else.
    of_tracks = np.bincount(spans.track[outer], np.maximum(spans.dur[outer], 0))
    loop = outer & (spans.track == int(np.argmax(of_tracks)))
    inside = np.flatnonzero(spans.step >= 0)
    whole = int((spans.ts[inside] + np.maximum(spans.dur[inside], 0)).max() - spans.ts[inside].min())
    waits = _time_of(spans, carried) - _time_of(spans, np.flatnonzero(loop))
    calls = spans.rows(trace.columns(_CALLS)["id"])
    called = _time_of(spans, calls[spans.track[calls] == int(np.argmax(of_tracks))])
    return min(1.0, (waits.total + called.total) / max(1, whole)), round(carried.size / np.unique(steps).size)


def _time_of(spans: Spans, at: NDArray[np.integer[Any]]) -> Intervals:
    return Intervals.union_of(spans.ts[at], spans.ts[at] + np.maximum(spans.dur[at], 0))
