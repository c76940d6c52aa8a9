"""Host events of the chosen steps by id, to which changes may refer."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stepscope.analyses.stepgraph.building.selection import GraphSteps
from stepscope.model.events import columns
from stepscope.model.events.change import EVERY_HOST_EVENT, Events
from stepscope.model.events.columns import on_host
from stepscope.model.intervals import Intervals, Times
from stepscope.model.trace import Trace

_FROM, _END = -(1 << 60), 1 << 60


@dataclass(frozen=True, slots=True, eq=False)
class HostSpans:
    """The n host events that overlap the chosen steps, by id.

    Attributes:
        id: int64[n].
        track: int32[n].
        ts: int64[n].
        end: int64[n].
        everywhere: bool[n], whether it delays all threads: work of the profiler.
    """

    id: NDArray[np.int64]
    track: NDArray[np.int32]
    ts: Times
    end: Times
    everywhere: NDArray[np.bool_]

    def on_threads(self, events: Events, threads: Iterable[int]) -> Intervals:
        """When any of the events ran on any of the threads."""
        if (events == EVERY_HOST_EVENT).any():
            return Intervals.union_of([_FROM], [_END])
        if not self.id.size:
            return Intervals.empty()
        at = np.minimum(np.searchsorted(self.id, events), self.id.size - 1)
        at = at[self.id[at] == events]
        at = at[self.everywhere[at] | np.isin(self.track[at], list(threads))]
        return Intervals.union_of(self.ts[at], self.end[at])


def read_spans(trace: Trace, selection: GraphSteps) -> HostSpans:
    """The host events of the chosen steps."""
    events = columns.Spans(trace)
    ends = events.ts + events.dur
    chosen = on_host(trace, events.track) & (events.dur > 0)
    chosen &= (events.ts < selection.ends[-1]) & (ends > selection.starts[0])
    at = events.by_id
    at = at[chosen[at]]
    everywhere = events.of("overhead")[at]
    return HostSpans(events.id[at].astype(np.int64), events.track[at], events.ts[at], ends[at], everywhere)
