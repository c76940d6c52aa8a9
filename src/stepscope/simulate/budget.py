"""The exact split of a rank's device time, from the activities that the simulator placed.

compute = union of compute kernels; exposed communication = union of collectives minus compute; exposed copy = union of
copies and memsets minus both; idle = the rest, each nanosecond charged to one cause.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from operator import attrgetter
from typing import NamedTuple

from stepscope.simulate import causes, records
from stepscope.simulate.hostlog import HostLog

COMPUTE, COMM, COPY = 0, 1, 2
KINDS = {"compute": COMPUTE, "comm": COMM, "copy": COPY, "set": COPY}
# Labels of device time; idle causes follow as ``IDLE + cause``.
IDLE = 10


_start, _end = attrgetter("start"), attrgetter("end")


class Placed(NamedTuple):
    """An activity with the facts that explain a gap before it."""

    start: int
    end: int
    kind: int
    submitted: int
    bound: int


class Labelled(NamedTuple):
    """An interval of device time: its label, and a bit per kind of work that ran."""

    start: int
    end: int
    label: int
    running: int


class LabelledSpans:
    """Sweep over activities, given in any order, into contiguous labelled intervals up to a settled time."""

    __slots__ = ("_log", "_pending", "intervals", "reached")

    def __init__(self, log: HostLog, start: int) -> None:
        self._log = log
        self._pending: list[Placed] = []
        self.intervals: list[Labelled] = []
        self.reached = start

    def add(self, placed: Placed) -> None:
        """Add an activity."""
        self._pending.append(placed)

    def advance(self, until: int) -> None:
        """Settle everything before ``until``; no later activity may start before it.

        An idle interval at the end stays open: its cause depends on the activity that ends it.
        """
        pending = self._pending
        if not pending:
            return
        pending.sort()
        running = [0, 0, 0]
        edges: list[tuple[int, int, int, int]] = []
        for index, p in enumerate(pending):
            if p.start >= until:
                break
            edges.append((max(p.start, self.reached), 1, p.kind, index))
            edges.append((min(p.end, until), -1, p.kind, index))
        edges.sort()
        for time, delta, kind, index in edges:
            if time > self.reached:
                self._close(time, running, index)
            running[kind] += delta
        self._pending = [p for p in pending if p.end > self.reached or p.start >= until]

    def finish(self, until: int) -> None:
        """Settle everything at the end of the job; idle time up to ``until`` is explained by host states alone."""
        self.advance(1 << 62)
        if self.reached < until:
            self._idle(self.reached, until, None)
            self.reached = until

    def _close(self, time: int, running: list[int], index: int) -> None:
        mask = (running[0] > 0) | (running[1] > 0) << 1 | (running[2] > 0) << 2
        if mask:
            label = COMPUTE if mask & 1 else COMM if mask & 2 else COPY
            self.intervals.append(Labelled(self.reached, time, label, mask))
        else:
            self._idle(self.reached, time, self._pending[index])
        self.reached = time

    def _idle(self, start: int, end: int, starter: Placed | None) -> None:
        submitted = end if starter is None else min(max(starter.submitted, start), end)
        refilling = False
        for left, right, kind in self._log.between(start, submitted):
            refilling |= kind == causes.SYNC
            charged = causes.SYNC if refilling and kind in causes.REFILL else kind
            self.intervals.append(Labelled(left, right, IDLE + charged, 0))
        if submitted < end and starter is not None:
            cause = causes.DEPENDENCY if starter.bound == records.DEPENDENCY else causes.LAUNCH_LATENCY
            self.intervals.append(Labelled(submitted, end, IDLE + cause, 0))

    def forget(self, before: int) -> None:
        """Drop intervals that ended before a time."""
        keep = 0
        while keep < len(self.intervals) and self.intervals[keep].end <= before:
            keep += 1
        if keep > 4096:
            del self.intervals[:keep]


def split(intervals: list[Labelled], start: int, end: int) -> dict[str, object]:
    """The budget of a window, in ns, from intervals in order; parts add up to ``total_ns`` exactly.

    Time outside all intervals counts as idle of unknown cause.
    """
    sums = [0] * (IDLE + len(causes.NAMES))
    comm = copy = covered = 0
    first = bisect_right(intervals, start, key=_end)
    last = bisect_left(intervals, end, key=_start)
    for left, right, label, running in intervals[first:last]:
        length = (right if right < end else end) - (left if left > start else start)
        covered += length
        sums[label] += length
        if running & 2:
            comm += length
        if running & 4:
            copy += length
    sums[IDLE + causes.UNKNOWN] += end - start - covered
    idle = {name: sums[IDLE + cause] for cause, name in enumerate(causes.NAMES) if sums[IDLE + cause]}
    return {
        "begin": start,
        "end": end,
        "total_ns": end - start,
        "compute_ns": sums[COMPUTE],
        "exposed_comm_ns": sums[COMM],
        "exposed_copy_ns": sums[COPY],
        "idle_ns": sum(idle.values()),
        "comm_ns": comm,
        "copy_ns": copy,
        "idle_causes": idle,
    }
