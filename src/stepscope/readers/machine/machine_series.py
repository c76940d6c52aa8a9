"""Series of the whole machine: processors, disks, network, memory, and what waited for them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from stepscope.readers.machine.values import entries, increase, increases, number

#: Subject, series, unit and value.
Made = tuple[str, str, str, float]
_PRESSURE: Final = {"cpu": "some wait for a processor", "io": "some wait for a disk", "io_full": "all wait for a disk",
                    "memory": "some wait for memory"}  # fmt: skip
_TICKS: Final = 100.0
_RANGE: Final = re.compile(r"(\d{1,5})(?:-(\d{1,5}))?")


def processors(before: dict[str, Any], now: dict[str, Any], seconds: float, head: dict[str, Any]) -> Iterator[Made]:
    """Cores in use: each, those of a NUMA node, and all."""
    ticks = number(head.get("ticks")) or _TICKS
    used: dict[int, float] = {}
    waiting = stolen = 0.0
    for name, (busy, waits, taken) in increases(before.get("cores"), now.get("cores"), 3):
        if name.isdecimal():
            used[int(name)] = min(busy / ticks / seconds, 1.0)
            waiting += waits / ticks / seconds
            stolen += taken / ticks / seconds
    for core, share in used.items():
        yield f"core {core}", "busy", "share", share
    if used:
        yield "processors", "busy", "cores", sum(used.values())
        yield "processors", "idle for a disk", "cores", waiting
        yield "processors", "taken by other machines", "cores", stolen
    nodes = list(entries(head.get("nodes")))
    for node, listed in nodes if len(nodes) > 1 else ():
        cores = _cores(listed)
        yield f"NUMA node {node}", "busy", "cores", sum(share for core, share in used.items() if core in cores)
    for name, value in entries(now.get("threads")):
        measured = number(value)
        if name in ("running", "blocked") and measured is not None:
            yield "processors", "threads ready" if name == "running" else "threads blocked", "threads", measured
    throttled = increase(before, now, "throttled")
    if throttled is not None:
        yield "processors", "quota used up", "share", throttled / 1e6 / seconds


def _cores(listed: Any) -> set[int]:
    """Cores in a list such as `0-15,32-47`."""
    found: set[int] = set()
    for first, last in _RANGE.findall(listed) if isinstance(listed, str) else ():
        found.update(range(int(first), int(last or first) + 1))
    return found


def disks(before: dict[str, Any], now: dict[str, Any], seconds: float, head: dict[str, Any]) -> Iterator[Made]:
    """Each disk that was used."""
    del head
    for name, grown in increases(before.get("disks"), now.get("disks"), 7):
        reads, read, read_ms, writes, written, write_ms, busy_ms = grown
        subject = f"disk {name}"
        yield subject, "busy", "share", min(busy_ms / 1e3 / seconds, 1.0)
        yield subject, "read", "bytes/s", read / seconds
        yield subject, "written", "bytes/s", written / seconds
        yield subject, "reads", "1/s", reads / seconds
        yield subject, "writes", "1/s", writes / seconds
        # Requests at a time, on average (Little's law).
        yield subject, "queue", "count", (read_ms + write_ms) / 1e3 / seconds
        if reads:
            yield subject, "time per read", "ns", read_ms / reads * 1e6


def network(before: dict[str, Any], now: dict[str, Any], seconds: float, head: dict[str, Any]) -> Iterator[Made]:
    """Each network interface."""
    del head
    for name, (received, dropped, sent) in increases(before.get("network"), now.get("network"), 3):
        yield f"network {name}", "received", "bytes/s", received / seconds
        yield f"network {name}", "sent", "bytes/s", sent / seconds
        yield f"network {name}", "dropped", "1/s", dropped / seconds


def pressure(before: dict[str, Any], now: dict[str, Any], seconds: float, head: dict[str, Any]) -> Iterator[Made]:
    """Share of the time in which threads waited for a processor, a disk or memory."""
    del head
    for name, label in _PRESSURE.items():
        grown = increase(before.get("pressure"), now.get("pressure"), name)
        if grown is not None:
            yield "processors", label, "share", min(grown / 1e6 / seconds, 1.0)


def memory(before: dict[str, Any], now: dict[str, Any], seconds: float, head: dict[str, Any]) -> Iterator[Made]:
    """Memory, the page cache, and pages that had to be read from a disk."""
    del head
    found = dict(entries(now.get("memory")))
    for name, series in (("available", "available"), ("cached", "page cache"), ("dirty", "to be written")):
        value = number(found.get(name))
        if value is not None:
            yield "memory", series, "bytes", value
    faults = increase(before.get("memory"), now.get("memory"), "major_faults")
    if faults is not None:
        yield "memory", "major faults", "1/s", faults / seconds
