"""Write planes as a Chrome trace, as the profiler's own `trace.json.gz` has them, in blocks of bounded size."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from itertools import count
from typing import Final

from stepscope.readers.kineto.others.xla_host import DEVICES, NO_DEVICES
from stepscope.readers.xplane.ends import EventEnds, encoded
from stepscope.readers.xplane.lines import PlaneLine
from stepscope.readers.xplane.planes import Plane
from stepscope.readers.xplane.space import HOST, OF_HOST, Space

#: Numbers of processes in the Chrome trace.
_HOST_PROCESS: Final = 701
_FIRST_DEVICE: Final = 1

#: Characters of text that are given at a time.
_BLOCK: Final = 1 << 18


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
        ends = EventEnds(plane)
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


def _us(ns: int) -> str:
    """A time in ns as one in us."""
    sign, ns = ("-", -ns) if ns < 0 else ("", ns)
    return f"{sign}{ns // 1000}.{ns % 1000:03d}"


def _named(kind: str, process: int, thread: int | None, name: str) -> str:
    where = {"pid": process} if thread is None else {"pid": process, "tid": thread}
    return encoded({"ph": "M", **where, "name": kind, "args": {"name": name}})
