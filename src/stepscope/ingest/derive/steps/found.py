"""The steps of a recording: their intervals on host and devices, and which of them are complete."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from stepscope.ingest.derive.activities import SYNC, DerivedWork
from stepscope.ingest.derive.overview import Overview
from stepscope.ingest.derive.steps.backlog import backlog, backlog_end
from stepscope.ingest.derive.steps.roles import roles_of
from stepscope.ingest.derive.steps.step import HostStep, called
from stepscope.ingest.derive.work import RecordedWork
from stepscope.model.intervals import Times
from stepscope.store.staging import Staging

if TYPE_CHECKING:
    from numpy.typing import NDArray
from stepscope.ingest.derive.steps.finding import find_steps

#: A first or last step with less than this share of the others' work is cut off (as in torch-tb-profiler).
_WHOLE_STEP: Final = 0.8


@dataclass(frozen=True, slots=True)
class FoundSteps:
    """n steps: intervals on the host, ascending and without overlap.

    Attributes:
        source: Where they come from, as column `source` of table `steps`.
        steps: The steps.
        starts: int64[n], start on the host in ns.
        stops: int64[n], end on the host in ns.
        called: int32[n], step number as in column `step` of all tables. While tables are derived a step is referred to
            by its position.
    """

    source: str
    steps: list[HostStep]
    starts: Times
    stops: Times
    called: NDArray[np.int32]

    @classmethod
    def find(cls, staging: Staging, overview: Overview, work: RecordedWork) -> FoundSteps:
        """The steps of a recording; none without events."""
        source, steps = find_steps(staging, overview, work)
        starts = np.array([step.ts for step in steps], np.int64)
        stops = starts + np.array([step.dur for step in steps], np.int64)
        return cls(source, steps, starts, stops, called([step.number for step in steps]))

    @property
    def marked(self) -> bool:
        """Whether the recording marks where steps start."""
        return self.source not in ("inferred", "whole")

    def places(self) -> pa.Table:
        """Interval of each step on the host: columns step, start and stop."""
        return pa.table({"step": self.called, "start": self.starts, "stop": self.stops})

    def at(self, ts: Times) -> NDArray[np.int32]:
        """Position of the step that each time lies in, int32[m]; -1 for none."""
        index = np.searchsorted(self.starts, ts, side="right") - 1
        if not self.starts.size:
            return index.astype(np.int32)
        inside = (index >= 0) & (ts < self.stops[index])
        return np.where(inside, index, -1).astype(np.int32)

    def column(self, position: pa.Array | pa.ChunkedArray) -> Any:
        """Column `step` as stored, from positions of steps and nulls."""
        return pc.take(pa.array(self.called, pa.int32()), position)

    def complete(self, work: NDArray[np.int64]) -> FoundSteps:
        """The steps, with cut-off ones marked partial.

        Args:
            work: int64[n], number of launches and operators that start in each.
        """
        # Requests differ in their work, so little work does not show that one is cut off. Of steps that are found by
        # their work it is known how much of it they hold.
        cut = _cut_off(np.zeros_like(work) if self.source in ("requests", "inferred") else work).tolist()
        return replace(
            self, steps=[replace(step, partial=step.partial or off) for step, off in zip(self.steps, cut, strict=True)]
        )

    def table(self, activities: DerivedWork) -> pa.Table:
        """Table `steps`.

        Every step extends to the end of the last device work launched in it. Devices lag behind the host, so work of a
        step often runs into the next step's host interval: that time belongs to the launching step, and the next step
        starts when it ends (the rule of torch-tb-profiler).
        """
        mine = np.flatnonzero((activities.step >= 0) & (activities.kind != SYNC))
        end = self.stops.copy()
        np.maximum.at(end, activities.step[mine], activities.ts[mine] + activities.dur[mine])
        start = self._starts(activities, end)
        partial = np.array([step.partial for step in self.steps], np.bool_)
        roles = roles_of(np.maximum(end - start, 0), self.stops - self.starts, partial, self.source)
        columns = {
            "step": self.called,
            "name": pa.array([step.name for step in self.steps], pa.string()),
            "number": pa.array([step.number for step in self.steps], pa.int64()),
            "source": pa.array([self.source] * len(self.steps), pa.string()),
            "ts": self.starts,
            "dur": self.stops - self.starts,
            "end": end,
            "partial": pa.array(partial),
            "begin": start,
            "typical": pa.array(roles.typical, pa.bool_()),
            "role": pa.array(roles.role, pa.string()),
            "reason": pa.array(roles.reason, pa.string()),
        }
        return pa.table(columns)

    def _starts(self, activities: DerivedWork, end: Times) -> Times:
        """Start of each step on the devices, int64[n] in ns."""
        start: Times = self.starts.copy()
        if not start.size:
            return start
        earlier = backlog_end(activities, int(end[0] - start[0]))
        working = activities.kind != SYNC
        if self.source == "whole" and working.any():
            first = int(activities.ts[working].min())
            # The recorded backlog counts as use of the device: it delays no other step.
            launched = (activities.launch >= 0) & working
            queued = backlog(activities.by_track, activities.track, launched) & working
            earlier = first if earlier is None or queued.any() else max(first, earlier)
        start[1:] = np.maximum(start[1:], np.maximum.accumulate(end)[:-1])
        if earlier is not None:
            # The recording may end before any of the step's own work starts.
            start = np.where(start < earlier, np.minimum(earlier, np.maximum(end, start)), start)
        return start


def _cut_off(amount: NDArray[np.int64]) -> NDArray[Any]:
    """Whether each step is the first or last one with clearly less work than the others, bool[n]."""
    partial = np.zeros(amount.size, np.bool_)
    for position, least_others in ((0, 2), (-1, 1)):
        others = np.delete(amount, position) if amount.size else amount
        if others.size >= least_others:
            partial[position] = amount[position] < _WHOLE_STEP * float(np.median(others))
    return partial
