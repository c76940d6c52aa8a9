"""Memory snapshots as PyTorch's versions write them, in a few lines."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from stepscope.ingest import Options, open_trace
from stepscope.model.trace import Trace

MIB = 1 << 20
_HEALTH_SQL = "SELECT code, count FROM health WHERE code NOT IN ('events-read', 'steps-none')"
T0 = 1_737_909_052_062_498
"""A time as snapshots have it, in microseconds since 1970."""


def frame(function: str, file: str = "/home/me/train.py", line: int = 1) -> dict[str, Any]:
    return {"filename": file, "line": line, "name": function}


def block(size: int, state: str = "inactive", **more: Any) -> dict[str, Any]:
    """A block as of 2.1; `requested_size` is `size` unless given."""
    return {"size": size, "requested_size": size, "state": state, "frames": [], **more}


def segment(address: int, blocks: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
    """A segment of device 0 that its blocks fill."""
    at = address
    for each in blocks:
        each.setdefault("address", at)
        at += each["size"]
    active = sum(b["size"] for b in blocks if b["state"] != "inactive")
    return {
        "device": 0, "address": address, "total_size": at - address, "allocated_size": active, "active_size": active,
        "requested_size": active, "stream": 0, "segment_type": "large", "segment_pool_id": (0, 0),
        "is_expandable": False, "frames": [], "blocks": blocks, **more,
    }  # fmt: skip


class History:
    """The history of a device; one microsecond passes per entry."""

    def __init__(self, timed: bool = True) -> None:
        self.entries: list[dict[str, Any]] = []
        self._timed = timed

    def add(self, action: str, addr: int | None, size: int, *functions: str, **more: Any) -> History:
        entry: dict[str, Any] = {"action": action, "addr": addr, "size": size, "stream": 0}
        if addr is None:
            del entry["addr"]
        if self._timed:
            entry["time_us"] = T0 + len(self.entries)
        self.entries.append({**entry, "frames": [frame(name) for name in functions], **more})
        return self

    def alloc(self, addr: int, size: int, *functions: str, **more: Any) -> History:
        return self.add("alloc", addr, size, *functions, **more)

    def free(self, addr: int, size: int) -> History:
        return self.add("free_requested", addr, size).add("free_completed", addr, size)


def snapshot(segments: list[dict[str, Any]], *histories: History, **more: Any) -> dict[str, Any]:
    return {"segments": segments, "device_traces": [history.entries for history in histories], **more}


def write(folder: Path, content: object, protocol: int = 4) -> Path:
    target = folder / "snapshot.pickle"
    target.write_bytes(pickle.dumps(content, protocol=protocol))
    return target


def opened(path: Path) -> Trace:
    return open_trace(path, Options(cache=False))


@contextmanager
def trace_of(folder: Path, content: object, protocol: int = 4) -> Iterator[Trace]:
    with opened(write(folder, content, protocol)) as trace:
        yield trace


def health(trace: Trace) -> dict[str, int]:
    """What the reader says, by code, without what is said of every recording."""
    return {row["code"]: row["count"] for row in trace.sql(_HEALTH_SQL).to_pylist()}


def table(trace: Trace, query: str) -> list[tuple[Any, ...]]:
    return [tuple(row.values()) for row in trace.sql(query).to_pylist()]
