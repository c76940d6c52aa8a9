"""What activities are for: backward pass, reduction of gradients, gathering of parameters."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stepscope.analyses.stepgraph.building import device_activities
from stepscope.analyses.stepgraph.building.device_activities import GraphActivities
from stepscope.analyses.stepgraph.building.selection import GraphSteps
from stepscope.model.events.columns import Spans, named, on_host
from stepscope.model.intervals import Intervals, Times
from stepscope.model.trace import Trace

_REDUCING = ("all_reduce", "reduce_scatter", "reduce")
_GATHERING = ("all_gather", "gather", "broadcast")

_BACKWARD_SQL = "SELECT DISTINCT target FROM flows WHERE kind = 'forward_backward' AND target IS NOT NULL"
_COLLECTIVES_SQL = "SELECT event, collective, coalesce(bytes, 0) AS bytes FROM collectives ORDER BY event"


@dataclass(frozen=True, slots=True)
class Purposes:
    """What the n activities of the graph are for.

    Attributes:
        backward: bool[n], compute launched by the backward pass.
        reducing: bool[n], collectives that sum up gradients, or may do so.
        gathering: bool[n], collectives whose data is there since the step began.
        bytes: int64[n], size of collectives; 0 where it is not recorded.
    """

    backward: NDArray[np.bool_]
    reducing: NDArray[np.bool_]
    gathering: NDArray[np.bool_]
    bytes: NDArray[np.int64]


def purposes(trace: Trace, selection: GraphSteps, activities: GraphActivities) -> Purposes:
    """Determine what activities are for, from operators, names and order."""
    spans = Spans(trace)
    passing = named(trace, _is_backward) & spans.of("op", "annotation")
    targets = spans.rows(trace.columns(_BACKWARD_SQL)["target"])
    passing[targets[targets >= 0]] = True
    at = np.flatnonzero(passing & (spans.dur > 0) & (spans.ts >= selection.starts[0]) & (spans.ts < selection.ends[-1]))
    at = at[on_host(trace, spans.track[at])]
    track, ts = spans.track[at], spans.ts[at]
    callers, called = _callers(spans, activities)
    backward = np.zeros(activities.ts.size, np.bool_)
    for thread in np.unique(track).tolist():
        its = track == thread
        mine = np.flatnonzero((callers == thread) & (activities.kind == device_activities.COMPUTE))
        passed = Intervals.union_of(ts[its], ts[its] + spans.dur[at[its]])
        backward[mine] = passed.at(called[mine])
    known = trace.columns(_COLLECTIVES_SQL)
    size = np.zeros(activities.ts.size, np.int64)
    reducing, gathering = np.zeros_like(backward), np.zeros_like(backward)
    if known["event"].size:
        at = np.minimum(np.searchsorted(known["event"], activities.event), known["event"].size - 1)
        found = known["event"][at] == activities.event
        kind = known["collective"][at].astype(str)
        size[found] = known["bytes"][at[found]]
        reducing, gathering = found & np.isin(kind, _REDUCING), found & np.isin(kind, _GATHERING)
    return Purposes(backward, reducing, gathering, size)


def _callers(spans: Spans, activities: GraphActivities) -> tuple[NDArray[np.int32], Times]:
    """The thread that asked for each activity, and when: that of its operator, where another thread launches."""
    row = spans.rows(activities.op)
    elsewhere = (row >= 0) & (spans.track[row] != activities.thread)
    return (
        np.where(elsewhere, spans.track[row], activities.thread),
        np.where(elsewhere, spans.ts[row], activities.called),
    )


def _is_backward(name: str) -> bool:
    return "backward" in name.lower() or name.startswith("autograd::engine::")
