"""Which Python call is around each event of the host."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stepscope.analyses.shared.recorded_events import recorded_events
from stepscope.model.trace import Trace

# Built-in functions have names with addresses, and add nothing to the line that calls them.
_PARENTS_SQL = """
SELECT s.id, coalesce(s.parent, -1) AS parent, s.name_id AS name, s.depth, s.category = 'python' AND n.frame AS frame,
    s.category = 'python' AND n.own AS own
FROM spans s JOIN (
    SELECT name_id, NOT starts_with(name, '<') AS frame, frame AND NOT regexp_matches(name, '(^|/)torch/') AS own
    FROM names
) n USING (name_id) WHERE s.depth IS NOT NULL
    AND s.category IN ('python', 'module', 'op', 'annotation', 'dataloader', 'step', 'gc', 'runtime', 'launch', 'sync')
"""


@dataclass(frozen=True, slots=True)
class Callers:
    """Host events by id, and the Python calls among them.

    Attributes:
        parent: int64[e], event around each event, -1 if none.
        name: int32[e], `name_id`.
        depth: int32[e].
        frame: bool[e], whether it is a call of a Python function.
        own: bool[e], whether that function is not PyTorch's own.
    """

    parent: NDArray[np.int64]
    name: NDArray[np.int32]
    depth: NDArray[np.int32]
    frame: NDArray[np.bool_]
    own: NDArray[np.bool_]

    def nearest_frame(self, events: NDArray[np.int64]) -> NDArray[np.int64]:
        """The innermost Python call around each event, -1 if there is none."""
        return self._nearest(events, self.frame)

    def nearest_line(self, events: NDArray[np.int64]) -> NDArray[np.int64]:
        """The innermost Python call outside PyTorch around each event, else the innermost of all, else -1."""
        found = self._nearest(events, self.own)
        return np.where(found < 0, self.nearest_frame(events), found)

    def _nearest(self, events: NDArray[np.int64], wanted: NDArray[np.bool_]) -> NDArray[np.int64]:
        found = self.parent[events]
        going = np.flatnonzero(found >= 0)
        while (going := going[~wanted[found[going]]]).size:
            found[going] = self.parent[found[going]]
            going = going[found[going] >= 0]
        return found


def callers(trace: Trace) -> Callers | None:
    """The events around every host event; None if the recording has no Python calls."""
    if not trace.once(recorded_events).of(("python",)).any():
        return None
    rows = trace.columns(_PARENTS_SQL)
    size = int(max(rows["id"].max(initial=-1), rows["parent"].max(initial=-1))) + 1
    columns = []
    for name, missing in (("parent", -1), ("name", -1), ("depth", 0), ("frame", False), ("own", False)):
        column = np.full(size, missing, rows[name].dtype)
        column[rows["id"]] = rows[name]
        columns.append(column)
    return Callers(*columns)
