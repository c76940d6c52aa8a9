"""Read rings, also while their processes write them."""

from __future__ import annotations

import contextlib
import json
from dataclasses import dataclass, field
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
    STEPS_FROM,
    SUFFIX,
    VERSION,
    RingStep,
    size,
)

#: A ring of more steps than this is none of ours.
_MOST_STEPS: Final = 1 << 24


@dataclass(frozen=True, slots=True)
class Ring:
    """What a ring holds.

    Attributes:
        path: Its file.
        about: What the process says of itself: `pid`, `host`, `rank`, `world_size`, `program`, `source` of steps.
        count: Steps since the start.
        length_ns: Time that they took.
        wait_ns: Time of that in which their loop waited for batches.
        recordings: Recordings made.
        written_unix_ns: When it was last written.
        device_bytes: Bytes in use on the device; 0 where there is none.
        host_bytes: Bytes of memory of the process; 0 where that is not known.
        steps: The last steps, in order.
        happened: The last things that happened, in order, as they were given.
    """

    path: Path
    about: dict[str, Any]
    count: int
    length_ns: int
    wait_ns: int
    recordings: int
    written_unix_ns: int
    device_bytes: int
    host_bytes: int
    steps: tuple[RingStep, ...] = ()
    happened: tuple[dict[str, Any], ...] = field(default=())

    @property
    def rank(self) -> int:
        """The rank of its process."""
        rank = self.about.get("rank")
        return rank if isinstance(rank, int) else 0

    @property
    def since_unix_ns(self) -> int:
        """When it was begun; 0 if it does not say."""
        since = self.about.get("since_unix_ns")
        return since if isinstance(since, int) else 0

    @property
    def world_size(self) -> int:
        """Ranks of its job."""
        size = self.about.get("world_size")
        return size if isinstance(size, int) else 1

    @property
    def pid(self) -> int:
        """The number of its process; 0 if it does not say."""
        pid = self.about.get("pid")
        return pid if isinstance(pid, int) else 0


def read_ring(path: Path, last: int | None = None) -> Ring:
    """Read a ring.

    Args:
        path: Its file.
        last: How many of its last steps to read; None for all.

    Raises:
        ValueError: It is no ring, or of another version.
        OSError: It can't be read.
    """
    with path.open("rb") as file:
        data = file.read(STEPS_FROM)
        values = _head(data, path)
        steps, count = values[2], values[3]
        wanted = min(count, steps, steps if last is None else last)
        found = []
        for first, stop in _spans(count - wanted, count, steps):
            file.seek(STEPS_FROM + first * STEP.size)
            found.append(file.read((stop - first) * STEP.size))
        file.seek(0)
        # What has come since then took the place of the oldest.
        later = _head(file.read(HEAD.size), path)[3]
    text = b"".join(found)
    oldest = max(later - steps, 0)
    read = [STEP.unpack_from(text, at) for at in range(0, len(text) - STEP.size + 1, STEP.size)]
    kept = [one for at, one in enumerate(read, count - wanted + 1) if one[0] == at > oldest]
    return Ring(
        path, _about(data), count, values[4], values[5], values[6], values[8], values[9], values[10],
        tuple(RingStep(one[1], one[2], one[3], one[4], one[5], one[6], bool(one[7] & RECORDED)) for one in kept),
        tuple(_happened(data, values[7])),
    )  # fmt: skip


def rings_in(folder: Path, last: int | None = None) -> list[Ring]:
    """The rings in a folder that can be read, by rank and number of the process."""
    found = []
    for path in folder.glob(f"*{SUFFIX}"):
        with contextlib.suppress(OSError, ValueError):
            found.append(read_ring(path, last))
    return sorted(found, key=lambda one: (one.rank, one.pid))


def _head(data: bytes, path: Path) -> tuple[Any, ...]:
    if len(data) < HEAD.size or data[: len(MAGIC)] != MAGIC:
        raise ValueError(f"{path} is no ring of steps")
    values = HEAD.unpack_from(data)
    if values[1] != VERSION or not 0 < values[2] <= _MOST_STEPS or path.stat().st_size < size(values[2]):
        raise ValueError(f"{path} is a ring of another version, or cut")
    return values


def _spans(first: int, stop: int, steps: int) -> list[tuple[int, int]]:
    """Places of the steps from one number to another, in the order in which they were made."""
    if first == stop:
        return []
    start, end = first % steps, stop % steps or steps
    return [(start, end)] if start < end else [(start, steps), (0, end)]


def _about(data: bytes) -> dict[str, Any]:
    length = LENGTH.unpack_from(data, ABOUT)[0]
    start = ABOUT + LENGTH.size
    return _values(data[start : min(start + length, HEAD_BYTES)])


def _happened(data: bytes, count: int) -> list[dict[str, Any]]:
    found = []
    for number in range(max(0, count - HAPPENED), count):
        at = HEAD_BYTES + number % HAPPENED * HAPPENED_BYTES
        if values := _values(data[at : at + HAPPENED_BYTES].rstrip(b"\0")):
            found.append(values)
    return found


def _values(text: bytes) -> dict[str, Any]:
    with contextlib.suppress(ValueError, RecursionError):
        values = json.loads(text)
        if isinstance(values, dict):
            return values
    return {}
