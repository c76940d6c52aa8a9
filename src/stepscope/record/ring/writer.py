"""Write a ring, from inside the program: no descriptor stays open, and nothing is mapped.

A mapped file would end the program with SIGBUS where its disk is full or gone, and a descriptor may be closed by the
program and then be another file's. So steps are collected, and written a few times a second.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from stepscope.record.ring.layout import (
    ABOUT,
    HAPPENED,
    HAPPENED_BYTES,
    HEAD,
    HEAD_BYTES,
    LENGTH,
    MAGIC,
    RECORDED,
    STEP,
    STEPS,
    STEPS_FROM,
    VERSION,
    size,
)

#: Nanoseconds between two writes.
_BETWEEN_NS: Final = 500_000_000
_PACK: Final = STEP.pack


class RingWriter:
    """The ring of this process; made with all its bytes, so that a disk that fills up later does not matter.

    Args:
        path: Its file, replaced if there is one.
        about: What readers are to know of the process, as JSON.
        steps: Steps to keep.
        between_ns: Nanoseconds between two writes.

    Raises:
        OSError: It can't be written.
    """

    def __init__(self, path: Path, about: dict[str, Any], steps: int = STEPS, between_ns: int = _BETWEEN_NS) -> None:
        self.path = str(path)
        self.steps = steps
        self._between_ns = between_ns
        self._count = self._length_ns = self._wait_ns = self._recordings = self._happened = 0
        self._device = self._host = 0
        self._new = bytearray()
        self._events: list[bytes] = []
        self._written = 0
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished = path.with_suffix(".unfinished")
        with unfinished.open("wb") as file:
            file.write(self._head())
            file.write(bytes(size(steps) - HEAD.size))
        unfinished.replace(path)
        self.describe(about)

    def describe(self, about: dict[str, Any]) -> None:
        """Say anew what readers are to know of the process."""
        text = json.dumps(about).encode()
        if len(text) > HEAD_BYTES - ABOUT - LENGTH.size:
            text = json.dumps({name: about[name] for name in ("pid", "rank", "world_size", "host")}).encode()
        self._put([(ABOUT, LENGTH.pack(len(text)) + text)])

    def add(
        self, number: int, end_unix_ns: int, length_ns: int, wait_ns: int, device_bytes: int, host_bytes: int,
        recorded: bool, now: int,
    ) -> None:  # fmt: skip
        """A step is over, of which readers get a `RingStep`; none is made here, which would take longer than the rest.

        Args:
            number: Its number in the program, from 0.
            end_unix_ns: When it ended.
            length_ns: How long it took.
            wait_ns: How long its loop waited for batches.
            device_bytes: Most bytes of tensors on the device so far; 0 where there is none.
            host_bytes: Bytes of memory that the process holds; 0 where that is not known.
            recorded: Whether a profiler of ours was at work.
            now: The monotonic time in ns, by which writes are spaced.
        """
        self._count = count = self._count + 1
        self._length_ns += length_ns
        self._wait_ns += wait_ns
        self._device, self._host = device_bytes, host_bytes
        flags = RECORDED if recorded else 0
        self._new += _PACK(count, number, end_unix_ns, length_ns, wait_ns, device_bytes, host_bytes, flags)
        if now - self._written >= self._between_ns:
            self._written = now
            self.flush()

    def add_all(
        self, first: int, ends: Sequence[int], lengths: Sequence[int], waits: Sequence[int], device_bytes: int,
        host_bytes: int,
    ) -> None:  # fmt: skip
        """Steps are over, that a later call of `add` has written; none of them was recorded.

        Args:
            first: Number of the first in the program.
            ends: When they ended, unix ns.
            lengths: How long they took, in ns.
            waits: How long their loop waited for batches; what is more than a length counts as all of it.
            device_bytes: Most bytes of tensors on the device so far; 0 where there is none.
            host_bytes: Bytes of memory that the process holds; 0 where that is not known.
        """
        count, waited, new = self._count, 0, self._new
        for number, (end, length, wait) in enumerate(zip(ends, lengths, waits, strict=True), first):
            count += 1
            wait = wait if wait < length else length
            waited += wait
            new += _PACK(count, number, end, length, wait, device_bytes, host_bytes, 0)
        self._count = count
        self._length_ns += sum(lengths)
        self._wait_ns += waited

    def happened(self, what: dict[str, Any]) -> None:
        """Keep something that happened, as JSON; of more than a slot holds nothing but its kind is kept."""
        text = json.dumps(what).encode()
        if len(text) > HAPPENED_BYTES:
            text = json.dumps({"what": str(what.get("what"))[:64], "unix_ns": what.get("unix_ns", 0)}).encode()
        self._events.append(text.ljust(HAPPENED_BYTES, b"\0"))
        self._happened += 1
        self._recordings += what.get("what") == "recorded"
        self.flush()

    def flush(self) -> None:
        """Write what is new: first the steps, then the head that counts them.

        Raises:
            OSError: It is gone, or can't be written.
        """
        new, events = self._new, self._events
        self._new, self._events = bytearray(), []
        parts: list[tuple[int, bytes | bytearray]] = []
        first = self._count - len(new) // STEP.size
        if first + self.steps < self._count:
            new, first = new[-self.steps * STEP.size :], self._count - self.steps
        start = first % self.steps
        room = (self.steps - start) * STEP.size
        parts.append((STEPS_FROM + start * STEP.size, new[:room]))
        parts.append((STEPS_FROM, new[room:]))
        for position, text in enumerate(events, self._happened - len(events)):
            parts.append((HEAD_BYTES + position % HAPPENED * HAPPENED_BYTES, text))
        self._put([*((at, part) for at, part in parts if part), (0, self._head())])

    def _head(self) -> bytes:
        return HEAD.pack(
            MAGIC, VERSION, self.steps, self._count, self._length_ns, self._wait_ns, self._recordings, self._happened,
            time.time_ns(), self._device, self._host,
        )  # fmt: skip

    def _put(self, parts: list[tuple[int, bytes | bytearray]]) -> None:
        file = os.open(self.path, os.O_WRONLY | getattr(os, "O_CLOEXEC", 0))
        try:
            for at, part in parts:
                os.pwrite(file, part, at)
        finally:
            os.close(file)
