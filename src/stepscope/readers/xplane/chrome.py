"""Write planes as a Chrome trace, as the profiler's own `trace.json.gz` has them, in blocks of bounded size."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from itertools import count
from typing import Any, Final

from stepscope.readers.kineto.others.xla_host import DEVICES, NO_DEVICES
from stepscope.readers.xplane.lines import PlaneLine
from stepscope.readers.xplane.planes import EventName, Plane
from stepscope.readers.xplane.space import HOST, OF_HOST, Space
from stepscope.readers.xplane.wire import BYTES, BrokenError, fields

#: Numbers of processes in the Chrome trace.
_HOST_PROCESS: Final = 701
_FIRST_DEVICE: Final = 1

#: Bookkeeping of allocators and queues, which the profiler does not show either.
_INTERNAL: Final = frozenset({
    "MemoryAllocation", "MemoryDeallocation", "PrefetchProduce", "PrefetchConsume", "ParallelInterleaveProduce",
    "ParallelInterleaveConsume", "ParallelInterleaveInitializeInput", "ParallelMapProduce", "ParallelMapConsume",
    "MapAndBatchProduce", "MapAndBatchConsume", "ParseExampleProduce", "ParseExampleConsume",
})  # fmt: skip
#: What an event of a device's lane of steps is called.
_STEP_NAME: Final = "step_name"

#: Characters of text that are given at a time.
_BLOCK: Final = 1 << 18
#: Most combinations of name and stats that are kept as text, and characters of those that are.
_MOST_KEPT: Final = 1 << 14
_LONGEST_KEPT: Final = 1 << 11


class Chrome:
    """A recording as a Chrome trace.

    Attributes:
        unnamed: Whether there are events whose names are lost.

    Args:
        space: The recording.
        progress: Called with the number of bytes of it that were read since the last call.
    """

    def __init__(self, space: Space, progress: Callable[[int], None]) -> None:
        self._space, self._progress = space, progress
        self.unnamed = False

    def blocks(self) -> Iterator[bytes]:
        """The text, in blocks."""
        yield json.dumps({**self._space.metadata(), "traceEvents": []}).removesuffix("]}").encode()
        separator, taken = "", {_HOST_PROCESS}
        for plane in self._space.shown:
            if plane.name in OF_HOST:
                process, name = _HOST_PROCESS, HOST
            else:
                process = next(one for one in count(_FIRST_DEVICE + max(0, plane.number)) if one not in taken)
                name = plane.name
            taken.add(process)
            yield (separator + _named("process_name", process, None, name)).encode()
            separator = ",\n"
            if process == _HOST_PROCESS and self._space.alone:
                yield (separator + _named(DEVICES, process, None, NO_DEVICES)).encode()
            yield from self._plane(plane, process)
        yield b"]}"

    def _plane(self, plane: Plane, process: int) -> Iterator[bytes]:
        ends = _Ends(plane)
        for start, end in plane.lines:
            line = PlaneLine(plane.data, start, end, plane.losses)
            parts: list[str] = []
            size = 0
            for offset, duration, name, stats in line.events():
                tail = ends.of(name, stats)
                if not tail:
                    continue
                before = f',\n{{"ph":"X","pid":{process},"tid":{line.number}'
                if offset is None:
                    parts.append(before + tail)
                else:
                    # Both ends are rounded, not the duration: what lies in another event then stays in it.
                    first = (offset + 500) // 1000
                    parts.append(f'{before},"ts":{_us(line.start_ns + first)},"dur":'
                                 f"{_us((offset + duration + 500) // 1000 - first)}{tail}")  # fmt: skip
                size += len(parts[-1])
                if size >= _BLOCK:
                    yield "".join(parts).encode()
                    parts, size = [], 0
            parts.append(",\n" + _named("thread_name", process, line.number, line.label))
            yield "".join(parts).encode()
            self._progress(end - start)
        self.unnamed |= ends.unnamed


class _Ends:
    """The text of events of a plane behind their times."""

    def __init__(self, plane: Plane) -> None:
        self._plane = plane
        self._names = plane.event_names()
        self._kept: dict[tuple[int, bytes], str] = {}
        self.unnamed = False

    def of(self, name: int, stats: bytes) -> str:
        """The text for a name and stats; empty if such events are not shown."""
        found = self._kept.get((name, stats))
        if found is None:
            found = self._text(name, stats)
            if len(self._kept) >= _MOST_KEPT:
                self._kept.clear()
            if len(found) <= _LONGEST_KEPT:
                self._kept[name, stats] = found
        return found

    def _text(self, number: int, stats: bytes) -> str:
        named = self._names.get(number)
        if named is None:
            self.unnamed = True
            named = EventName(f"event {number}")
        if (named.long_name or named.name) in _INTERNAL:
            return ""
        args = {"long_name": named.long_name} if named.long_name else {}
        args.update(named.stats)
        try:
            for field, kind, start, end in fields(stats, 0, len(stats)):
                if (field, kind) == (4, BYTES):
                    args.update(self._plane.stat(stats, start, end))
        except BrokenError as error:
            self._plane.losses.add(error)
        told = f',"args":{_json(args)}' if args else ""
        return f',"name":{_json(args.get(_STEP_NAME, named.name))}{told}}}'


def _us(ns: int) -> str:
    """A time in ns as one in us."""
    sign, ns = ("-", -ns) if ns < 0 else ("", ns)
    return f"{sign}{ns // 1000}.{ns % 1000:03d}"


def _named(kind: str, process: int, thread: int | None, name: str) -> str:
    where = {"pid": process} if thread is None else {"pid": process, "tid": thread}
    return _json({"ph": "M", **where, "name": kind, "args": {"name": name}})


def _json(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)
