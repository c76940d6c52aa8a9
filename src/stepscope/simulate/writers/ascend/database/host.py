"""The framework's calls and CANN's."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from stepscope.simulate.writers.ascend import vocabulary
from stepscope.simulate.writers.ascend.cann_events import PUBLIC, connection
from stepscope.simulate.writers.ascend.database.schema import LEVELS, OP, PYTHON, QUEUE
from stepscope.simulate.writers.ascend.device_events import work_connection
from stepscope.simulate.writers.ascend.export import ArrangedStep
from stepscope.simulate.writers.ascend.host import Operator, Task
from stepscope.simulate.writers.ascend.place import RankPlace
from stepscope.simulate.writers.export_database import ExportDatabase

#: Connections between the two ends of the framework's queue lie above those of CANN.
_QUEUED = 1 << 40


class HostTables:
    """Rows of a step's calls; numbers what connects them."""

    def __init__(self, place: RankPlace, database: ExportDatabase) -> None:
        self._place, self._database = place, database
        self._connections = 0
        self._stacks: dict[str, int] = {}

    def add(self, step: ArrangedStep) -> None:
        """Take a step."""
        place, text = self._place, self._database.text
        launched: dict[Operator, list[int]] = {}
        for work in step.device.work:
            if work.operator is not None:
                launched.setdefault(work.operator, []).append(work_connection(work))
        for mark in step.device.marks:
            task = step.host.tasks.get(mark.call.correlation)
            if task is not None:
                launched.setdefault(task.operator, []).append(connection(mark.call, PUBLIC))
        rows = self._database.table("PYTORCH_API")
        rows += [self._operator(operator, launched.get(operator, [])) for operator in step.host.operators]
        rows += [row for task in step.host.tasks.values() for row in self._queue(task)]
        if place.job.with_stack:
            for frame in step.records.frames:
                start, end = frame.start + place.shift, frame.end + place.shift
                thread = self._thread(place.threads[frame.thread])
                if frame.name == "Python GC":
                    self._database.table("GC_RECORD").append((start, end, thread))
                else:
                    nothing = (None,) * 6
                    rows.append((str(start), str(end), thread, nothing[0], text(frame.name), *nothing[1:], PYTHON))
        self._database.table("CANN_API").extend(
            (
                api.start + place.shift, api.end + place.shift, LEVELS[api.level], self._thread(api.thread),
                api.connection, text("launch" if api.level == "node" else api.name),
            )
            for api in step.calls
        )  # fmt: skip

    def _thread(self, thread: int) -> int:
        return self._place.pid << 32 | thread

    def _connect(self, ends: list[int]) -> int | None:
        """The number of a new connection to all of these; None without any."""
        if not ends:
            return None
        self._database.table("CONNECTION_IDS").extend((self._connections, end) for end in dict.fromkeys(ends))
        self._connections += 1
        return self._connections - 1

    def _operator(self, o: Operator, ends: list[int]) -> tuple[Any, ...]:
        place, text = self._place, self._database.text
        types = shapes = None
        if o.spec is not None and o.spec.inputs and o.name != "empty_tensor" and place.job.record_shapes:
            types, shapes = text(vocabulary.types(o.spec.inputs)), text(vocabulary.shapes(o.spec.inputs))
        forward = int(o.spec is not None and o.spec.backward and o.sequence >= 0)
        return (
            str(o.start + place.shift), str(o.end + place.shift), self._thread(place.threads[o.thread]),
            self._connect(ends), text(o.name), o.sequence, forward, types, shapes, self._stack(o.stack), OP,
        )  # fmt: skip

    def _stack(self, stack: str) -> int | None:
        if not stack:
            return None
        number = self._stacks.get(stack)
        if number is None:
            number = self._stacks[stack] = len(self._stacks)
            frames = enumerate(stack.split(";\r\n"))
            rows = self._database.table("PYTORCH_CALLCHAINS")
            rows += [(number, self._database.text(frame), depth) for depth, frame in frames]
        return number

    def _queue(self, task: Task) -> Iterator[tuple[Any, ...]]:
        """A task is put on the queue inside its operator, and taken off by the thread that calls CANN."""
        place, call = self._place, task.call
        handed = task.handed_over
        margin = (handed - call.start) // 8
        ends = (
            ("Enqueue", place.threads[call.thread], call.start + margin, handed - margin),
            (f"Dequeue@{task.name}", place.queue_thread, handed, call.end),
        )
        for name, thread, start, end in ends:
            times = str(start + place.shift), str(end + place.shift)
            key = self._connect([_QUEUED + call.correlation])
            yield *times, self._thread(thread), key, self._database.text(name), None, None, None, None, None, QUEUE
