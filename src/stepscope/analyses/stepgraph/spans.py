"""Host events of the chosen steps, by id: what a change may name."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stepscope.analyses.stepgraph.change import EVERY_HOST_EVENT, Events
from stepscope.analyses.stepgraph.selection import Selection
from stepscope.model.intervals import Intervals, Times
from stepscope.model.trace import Trace

_BEGIN, _END = -(1 << 60), 1 << 60
_SPANS_SQL = """
SELECT s.id, s.track, s.ts, s.ts + s.dur AS stop, s.category = 'overhead' AS everywhere
FROM spans s JOIN tracks t USING (track)
WHERE t.kind = 'host' AND s.dur > 0 AND s.ts < $hi AND s.ts + s.dur > $lo ORDER BY s.id
"""


@dataclass(frozen=True, slots=True, eq=False)
class Spans:
    """The n host events that lie in the chosen steps at least in part, by id.

    Attributes:
        id: int64[n].
        track: int32[n].
        ts: int64[n].
        end: int64[n].
        everywhere: bool[n], whether it holds up all threads: work of the profiler.
    """

    id: NDArray[np.int64]
    track: NDArray[np.int32]
    ts: Times
    end: Times
    everywhere: NDArray[np.bool_]

    def on_threads(self, events: Events, threads: Iterable[int]) -> Intervals:
        """When any of the events lasted on any of the threads."""
        if (events == EVERY_HOST_EVENT).any():
            return Intervals.union_of([_BEGIN], [_END])
        if not self.id.size:
            return Intervals.empty()
        at = np.minimum(np.searchsorted(self.id, events), self.id.size - 1)
        at = at[self.id[at] == events]
        at = at[self.everywhere[at] | np.isin(self.track[at], list(threads))]
        return Intervals.union_of(self.ts[at], self.end[at])


def read_spans(trace: Trace, selection: Selection) -> Spans:
    """The host events of the chosen steps."""
    rows = trace.columns(_SPANS_SQL, {"lo": int(selection.starts[0]), "hi": int(selection.ends[-1])})
    return Spans(rows["id"], rows["track"], rows["ts"], rows["stop"], rows["everywhere"].astype(np.bool_))
