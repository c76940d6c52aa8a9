"""Series of the job's processes, the main threads of its ranks, and the files it has open."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from stepscope.language import said
from stepscope.readers.machine.machine_series import Made
from stepscope.readers.machine.values import entries, increase, increases, number, numbers

#: By name in the file: series, unit, and what is counted per unit.
_RATES: Final = {
    "ran_ns": ("busy", "cores", 1e9),
    "waited_ns": ("ready without a processor", "threads", 1e9),
    "reads": ("reads", "1/s", 1.0),
    "read_bytes": ("read", "bytes/s", 1.0),
    "disk_read_bytes": ("read from disks", "bytes/s", 1.0),
    "writes": ("writes", "1/s", 1.0),
    "written_bytes": ("written", "bytes/s", 1.0),
    "disk_written_bytes": ("written to disks", "bytes/s", 1.0),
    "faults": ("major faults", "1/s", 1.0),
}
_LEVELS: Final = {"processes": "processes", "threads": "threads", "workers": "loader workers", "blocked": "blocked"}
_PAGE: Final = 4096.0


def job(before: dict[str, Any], now: dict[str, Any], seconds: float, head: dict[str, Any]) -> Iterator[Made]:
    """All processes of the job together."""
    one, other = before.get("job"), now.get("job")
    grown = {name: increase(one, other, name) for name in _RATES}
    for name, (series, unit, per) in _RATES.items():
        value = grown[name]
        if value is not None:
            yield "job", series, unit, value / per / seconds
    reads, read = grown["reads"], grown["read_bytes"]
    if reads and read is not None:
        yield "job", "bytes per read", "bytes", read / reads
    levels = dict(entries(other))
    for name, series in _LEVELS.items():
        value = number(levels.get(name))
        if value is not None:
            yield "job", series, "count", value
    pages = number(levels.get("resident"))
    if pages is not None:
        yield "job", "resident", "bytes", pages * (number(head.get("page")) or _PAGE)
    cores = number(head.get("cores"))
    if cores:
        yield "job", "may use", "cores", min(cores, number(head.get("quota")) or cores)


def ranks(before: dict[str, Any], now: dict[str, Any], seconds: float, head: dict[str, Any]) -> Iterator[Made]:
    """The main thread of each rank."""
    del head
    one, other = (dict(entries(sample.get("job"))).get("ranks") for sample in (before, now))
    for pid, (ran, waited) in increases(one, other, 2):
        yield f"main thread of process {pid}", "busy", "share", min(ran / 1e9 / seconds, 1.0)
        yield f"main thread of process {pid}", "ready without a processor", "share", min(waited / 1e9 / seconds, 1.0)


def files(sample: dict[str, Any], head: dict[str, Any]) -> Iterator[Made]:
    """Files of data that were seen open, on each filesystem, since the job started."""
    del head
    for mount, values in entries(sample.get("files")):
        found = numbers(values, 3)
        if found is not None:
            yield said("files on {mount}", mount=mount), "seen open", "count", found[0]
            yield said("files on {mount}", mount=mount), "different", "count", found[1]
            yield said("files on {mount}", mount=mount), "median size", "bytes", found[2]
