"""The device's side of a step: numbered tasks on streams, and collectives apart."""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from stepscope.simulate.records import ActivityRecord, CallRecord
from stepscope.simulate.specs import KernelSpec
from stepscope.simulate.writers.ascend.host import AscendHostStep, Operator
from stepscope.simulate.writers.ascend.place import RankPlace
from stepscope.simulate.writers.ascend.steps import StepRecords


class DeviceTask(NamedTuple):
    """A kernel, copy or collective as a task of a stream; times are the job's, in ns.

    ``number`` counts the stream's tasks, ``node`` is the place in a graph (0: none), ``sequence`` counts collectives.
    """

    start: int
    end: int
    stream: int
    number: int
    spec: KernelSpec
    call: CallRecord
    operator: Operator | None
    node: int
    sequence: int


class MarkTask(NamedTuple):
    """A task that only marks or waits for an event."""

    start: int
    end: int
    stream: int
    number: int
    waits: bool
    call: CallRecord


@dataclass(slots=True)
class DeviceStep:
    """Work launched in one step, in order of launch."""

    work: list[DeviceTask]
    marks: list[MarkTask]


class Streams:
    """Numbers the tasks of each stream, and knows when each stream gets to a mark."""

    def __init__(self, place: RankPlace) -> None:
        self._place = place
        self._numbers = [0, 0, 0]
        self._ends = [0, 0, 0]
        self._events: dict[int, int] = {}

    def arrange(self, records: StepRecords, host: AscendHostStep) -> DeviceStep:
        """The step's tasks."""
        calls = {call.correlation: call for call in records.calls}
        step = DeviceStep([], [])
        launches: list[tuple[int, int, ActivityRecord | CallRecord]] = [
            (a.correlation, a.node, a) for a in records.activities if a.correlation in calls
        ]
        launches += [(c.correlation, 0, c) for c in records.calls if c.event >= 0]
        launches.sort(key=lambda launch: launch[:2])
        for correlation, _, item in launches:
            if isinstance(item, ActivityRecord):
                task = host.tasks.get(correlation)
                step.work.append(self._work(item, calls[correlation], task.operator if task else None))
            else:
                step.marks.append(self._mark(item))
        return step

    def _work(self, a: ActivityRecord, call: CallRecord, operator: Operator | None) -> DeviceTask:
        number = self._number(a.queue)
        self._ends[a.queue] = a.end
        stream = self._place.streams[a.queue]
        return DeviceTask(a.start, a.end, stream, number, a.spec, call, operator, a.node, a.sequence)

    def _mark(self, call: CallRecord) -> MarkTask:
        """An event is over when its queue gets to it; a wait lasts until the event it waits for is."""
        start = end = max(call.end, self._ends[call.queue])
        waits = call.name == "cudaStreamWaitEvent"
        if waits:
            end = max(start, self._events.get(call.event, 0))
        else:
            self._events[call.event] = start
        return MarkTask(start, end, self._place.streams[call.queue], self._number(call.queue), waits, call)

    def _number(self, queue: int) -> int:
        self._numbers[queue] += 1
        return self._numbers[queue]


class InOrder:
    """Sorts work by start, releasing it once no earlier work can follow."""

    def __init__(self) -> None:
        self._waiting: list[tuple[int, int, int, DeviceTask]] = []
        self._count = 0

    def add(self, work: list[DeviceTask]) -> None:
        """Take further work, in any order."""
        for item in work:
            self._count += 1
            heapq.heappush(self._waiting, (item.start, item.end, self._count, item))

    def until(self, time: int) -> Iterator[DeviceTask]:
        """Work that starts before a time, in order."""
        while self._waiting and self._waiting[0][0] < time:
            yield heapq.heappop(self._waiting)[3]


def is_collective(work: DeviceTask) -> bool:
    """Whether the work is a collective, which has a row of its own instead of its stream's."""
    return work.spec.kind == "comm"
