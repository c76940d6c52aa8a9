"""What activities are for: the backward pass, gradients to be summed, parameters to be gathered."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stepscope.analyses.stepgraph import rows
from stepscope.analyses.stepgraph.rows import Activities
from stepscope.analyses.stepgraph.selection import Selection
from stepscope.model.intervals import Intervals
from stepscope.model.trace import Trace

_REDUCING = ("all_reduce", "reduce_scatter", "reduce")
_GATHERING = ("all_gather", "gather", "broadcast")

_BACKWARD_SQL = """
SELECT s.track, s.ts, s.ts + s.dur AS stop FROM spans s JOIN tracks t USING (track)
WHERE t.kind = 'host' AND s.dur > 0 AND s.ts >= $lo AND s.ts < $hi AND (s.category IN ('op', 'annotation')
    AND s.name_id IN (SELECT name_id FROM names WHERE name ILIKE '%backward%' OR name LIKE 'autograd::engine::%')
    OR s.id IN (SELECT target FROM flows WHERE kind = 'forward_backward'))
"""
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


def purposes(trace: Trace, selection: Selection, activities: Activities) -> Purposes:
    """Find out what activities are for."""
    within = {"lo": int(selection.starts[0]), "hi": int(selection.ends[-1])}
    spans = trace.columns(_BACKWARD_SQL, within)
    backward = np.zeros(activities.ts.size, np.bool_)
    for track in np.unique(spans["track"]).tolist():
        its = spans["track"] == track
        mine = np.flatnonzero((activities.thread == track) & (activities.kind == rows.COMPUTE))
        backward[mine] = Intervals.union_of(spans["ts"][its], spans["stop"][its]).at(activities.called[mine])
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
