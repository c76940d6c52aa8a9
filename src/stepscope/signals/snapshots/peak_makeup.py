"""Composition of a device's memory at its peak, and where an allocation failed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from stepscope.analyses.snapshots.memory_snapshot_levels import SnapshotLevels, snapshot_levels
from stepscope.analyses.snapshots.memory_snapshot_peaks import OLDER, held_at
from stepscope.language import listing, said
from stepscope.language.part_words import in_words
from stepscope.model.amounts import percent, quantity
from stepscope.model.errors import MissingInputError
from stepscope.model.places import short_place
from stepscope.signals.signal import Signals, signal

_TRAINS_SQL: Final = """
SELECT count(*) FROM allocations a JOIN call_stacks s USING (stack) WHERE s.category = 'backward' AND a.seq IS NOT NULL
"""
_HISTORY_SQL: Final = "SELECT count(*) FROM allocator_events WHERE action = 'alloc'"


#: How purposes of what is older than the recording begin.
OLD: Final = OLDER


@dataclass(frozen=True, slots=True)
class Holder:
    """Memory in use by source line, or by purpose.

    Attributes:
        name: The line as `file(line): function`, or the purpose.
        bytes: In use.
        count: Allocations that they consist of.
        largest: Bytes of the largest of these.
        brief: Bytes of those that lived briefly.
    """

    name: str
    bytes: int
    count: int
    largest: int
    brief: int = 0

    @property
    def text(self) -> str:
        """`softmax.py:14 (forward) 6.00 GiB (24 × 256 MiB)`."""
        place, size, largest = short_place(self.name), quantity(self.bytes, "bytes"), quantity(self.largest, "bytes")
        if self.count < 2:
            return f"{place} {size}"
        if self.bytes == self.count * self.largest:
            return f"{place} {size} ({self.count:,} × {largest})"
        return said(
            "{place} {size} ({count:,} × up to {largest})", place=place, size=size, count=self.count, largest=largest
        )


@dataclass(frozen=True, slots=True)
class Makeup:
    """Composition of a device's memory at a moment.

    Attributes:
        device: Index.
        ts: The moment.
        used: Bytes that the program had asked for and used.
        reserved: Bytes that the allocator held.
        purposes: By purpose, the most bytes first.
        lines: By source line, the most bytes first.
    """

    device: int
    ts: int
    used: int
    reserved: int
    purposes: tuple[Holder, ...]
    lines: tuple[Holder, ...]

    def share(self, *purposes: str) -> float:
        """Share of used memory with these purposes; a name stands for all that start with it."""
        found = sum(one.bytes for one in self.purposes if one.name.startswith(purposes))
        return found / self.used if self.used else 0.0

    def by_purpose(self, least: float = 0.02) -> str:
        """Purposes with at least a given share, as text: `activations 72.9 %, older than the recording 21.1 %`."""
        return listing(
            said("{purpose} {share}", purpose=in_words(one.name), share=percent(one.bytes / self.used))
            for one in self.purposes if one.bytes >= least * self.used
        )  # fmt: skip

    def by_line(self, most: int = 3) -> str:
        """The lines that hold most, as text, where they are known."""
        return listing([one.text for one in self.lines if "(" in one.name][:most])


@signal()
def several(s: Signals) -> bool:
    """Whether the snapshot has the memory of several devices."""
    return len(snapshot_levels(s.trace)) > 1


@signal()
def makeup(s: Signals) -> Makeup:
    """Composition of a memory snapshot at its peak, on the device with the highest one."""
    levels = max(snapshot_levels(s.trace), key=lambda one: int(one.requested.max()))
    rows = [row for row in s.table("memory_peak_stacks").records() if row["device"] == levels.device]
    return _makeup(levels, levels.peak, rows)


@signal()
def failed_makeups(s: Signals) -> Mapping[int, Makeup]:
    """Composition of memory at the first failed allocation, by device."""
    found: dict[int, Makeup] = {}
    first: dict[int, int] = {}
    for row in s.trace.rows("SELECT device, seq FROM allocator_events WHERE action = 'oom' ORDER BY seq DESC"):
        first[row["device"]] = row["seq"]
    for levels in snapshot_levels(s.trace) if first else ():
        if (when := first.get(levels.device)) is not None:
            table = held_at(s.trace, [levels.device], [when], [int(levels.ts[when])])
            found[levels.device] = _makeup(levels, when, table.records())
    return found


@signal()
def trains(s: Signals) -> bool:
    """Whether a memory snapshot's history has allocations of a backward pass."""
    if not s.trace.scalar(_HISTORY_SQL):
        raise MissingInputError.of("history")
    return bool(s.trace.scalar(_TRAINS_SQL))


def holders(rows: Iterable[Mapping[str, Any]], by: str) -> tuple[Holder, ...]:
    """Rows of `memory_peak_stacks` of one kind."""
    return tuple(
        Holder(row["name"], row["bytes"], row["count"], row["largest_bytes"], row["brief_bytes"])
        for row in rows if row["by"] == by
    )  # fmt: skip


def _makeup(levels: SnapshotLevels, row: int, rows: list[dict[str, Any]]) -> Makeup:
    return Makeup(
        levels.device, int(levels.ts[row]), int(levels.requested[row]), int(levels.reserved[row]),
        holders(rows, "purpose"), holders(rows, "line"),
    )  # fmt: skip
