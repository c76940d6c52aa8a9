"""How computing and communication overlap: rows of the trace, and their sums per step in ``step_trace_time.csv``."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from dataclasses import dataclass, field
from typing import NamedTuple

from stepscope.model.intervals import Intervals
from stepscope.simulate.writers.ascend import events
from stepscope.simulate.writers.ascend.device import DeviceTask, is_collective
from stepscope.simulate.writers.ascend.place import OVERLAP, RankPlace, trimmed

#: Rows of the trace, in order; every event is called as its row.
ROWS = ("Computing", "Communication", "Communication(Not Overlapped)", "Free")


@dataclass(frozen=True, slots=True)
class StepWindow:
    """A step as the device saw it: from its first work to the end of its last, or of the step on the host."""

    number: int
    host_start: int
    start: int
    end: int


def step_at(windows: list[StepWindow], time: int) -> StepWindow | None:
    """The first step that holds a time; windows are in order of start."""
    for window in windows[-3:]:
        if window.start <= time <= window.end:
            return window
    return None


@dataclass(slots=True)
class OverlapTotals:
    """Gathers starts and ends of kernels and collectives: 16 bytes each."""

    place: RankPlace
    times: dict[bool, tuple[array[int], array[int]]] = field(
        default_factory=lambda: {kind: (array("q"), array("q")) for kind in (False, True)}
    )

    def add(self, work: DeviceTask) -> None:
        """Take a kernel or collective."""
        starts, ends = self.times[is_collective(work)]
        starts.append(work.start)
        ends.append(work.end)

    def rows(self) -> dict[str, list[tuple[int, int]]]:
        """Starts and ends of the events of each row."""
        computing, communication = (Intervals.union_of(*self.times[kind]) for kind in (False, True))
        busy = computing | communication
        free = Intervals(busy.ends[:-1], busy.starts[1:])
        sets = (computing, communication, communication - computing, free)
        return {
            name: list(zip(found.starts.tolist(), found.ends.tolist(), strict=True))
            for name, found in zip(ROWS, sets, strict=True)
        }


def overlap_events(place: RankPlace, rows: dict[str, list[tuple[int, int]]]) -> list[str]:
    """The rows as events."""
    pid = place.process(OVERLAP)
    return [
        events.cann(name, (pid, row), (place.stamp(start), end - start))
        for row, (name, intervals) in enumerate(rows.items())
        for start, end in intervals
    ]


class StepRow(NamedTuple):
    """What a step's time went to, in ns; the label is empty without steps."""

    label: str
    computing: int
    exposed: int
    overlapped: int
    communication: int
    free: int
    stage: int
    preparing: int


def step_times(place: RankPlace, rows: dict[str, list[tuple[int, int]]], steps: list[StepWindow]) -> list[StepRow]:
    """Sums of each step: it has the events that start in it; without steps there is one row."""
    found: list[StepRow] = []
    marked = place.job.mark_steps
    taken = 0
    for step in steps if marked else steps[:1]:
        # An event belongs to the first step that it starts in.
        start, end = (max(step.start, taken), step.end) if marked else (step.start, 1 << 62)
        taken = end
        inside = {name: _within(intervals, start, end) for name, intervals in rows.items()}
        flat = [interval for intervals in inside.values() for interval in intervals]
        if not flat:
            continue
        computing, comm, exposed, free = (sum(e - b for b, e in inside[name]) for name in ROWS)
        stage = max(e for _, e in flat) - min(b for b, _ in flat)
        first = min((b for name in ROWS[:2] for b, _ in inside[name]), default=step.host_start)
        label, before = str(step.number) if marked else "", max(0, first - step.host_start)
        found.append(StepRow(label, computing, exposed, comm - exposed, comm, free, stage, before))
    return found


def step_table(place: RankPlace, steps: list[StepRow]) -> str:
    """Text of ``step_trace_time.csv``."""
    lines = [
        f"{place.device_column}Step,Computing,Communication(Not Overlapped),Overlapped,Communication,Free,Stage,Bubble,"
        "Communication(Not Overlapped and Exclude Receive),Preparing\r\n"
    ]
    for label, *times, preparing in steps:
        numbers = ",".join(trimmed(value) for value in times)
        last = f"{trimmed(times[1])},{trimmed(preparing)}"
        lines.append(f"{place.device_cell}{label},{numbers},0,{last}\r\n")
    return "".join(lines)


def _within(intervals: list[tuple[int, int]], start: int, end: int) -> list[tuple[int, int]]:
    return intervals[bisect_left(intervals, (start, 0)) : bisect_left(intervals, (end, 0))]
