"""What a track draws: events, and runs of events that are shorter than a bucket of time."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stepscope.model.events.nesting import is_outer_first
from stepscope.model.intervals import Times, ascending
from stepscope.model.sizes import SIZES
from stepscope.native.merging import merge
from stepscope.native.runs import runs

#: Positions of events in `TrackEvents`.
Rows = NDArray[np.int32]


class _Columns:
    """A dataclass whose fields are arrays."""

    __slots__ = ()

    @property
    def nbytes(self) -> int:
        """Bytes in memory."""
        return sum(getattr(self, one.name).nbytes for one in fields(self))  # type: ignore[arg-type]


def lane_edges(lane: NDArray[Any], lanes: int) -> NDArray[np.intp]:
    """Where each lane starts among ascending ones, and where the last one ends.

    They are searched for in the type that they have: those of another one would have all lanes converted first.
    """
    return np.append(np.searchsorted(lane, np.arange(lanes, dtype=lane.dtype)), lane.size)


@dataclass(frozen=True, slots=True, eq=False)
class TrackEvents(_Columns):
    """The n events of a track, by lane and then by start.

    Attributes:
        ts: int64[n], start in ns since the rank's origin.
        dur: int64[n], duration in ns; 0 where the recording has none.
        id: int32[n], ids of events; those of tables that are no events count from 0.
        name: int32[n], position among the names of the rank or of the track.
        kind: uint8[n], position in `KINDS`.
        lane: uint16[n], row of the track that the event is drawn in, ascending.
    """

    ts: Times
    dur: Times
    id: NDArray[np.int32]
    name: NDArray[np.int32]
    kind: NDArray[np.uint8]
    lane: NDArray[np.uint16]

    @classmethod
    def of(
        cls, ts: Times, dur: Times, lane: NDArray[Any], *, id: NDArray[Any], name: NDArray[Any], kind: NDArray[Any]
    ) -> TrackEvents:
        """Sort events, which may come in any order, and give every column its type."""
        order = ascending(lane) if is_outer_first(ts, ts + dur) else np.lexsort((-dur, ts, lane))
        return cls.ordered(ts[order], dur[order], lane[order], id=id[order], name=name[order], kind=kind[order])

    @classmethod
    def ordered(
        cls, ts: Times, dur: Times, lane: NDArray[Any], *, id: NDArray[Any], name: NDArray[Any], kind: NDArray[Any]
    ) -> TrackEvents:
        """Give every column of events that are in order its type."""
        types = (np.int64, np.int64, np.int32, np.int32, np.uint8, np.uint16)
        columns = (ts, dur, id, name, kind, lane)
        return cls(*(column.astype(type_, copy=False) for column, type_ in zip(columns, types, strict=True)))

    @property
    def lanes(self) -> int:
        """Number of lanes, at least 1."""
        return int(self.lane[-1]) + 1 if self.lane.size else 1

    def merged(self, level: int, number: int) -> TrackEntries:
        """The entries at a level, as `TrackEntries.merged` makes them; so many there are."""
        return TrackEntries(*runs(level, self.ts, self.dur, self.lane, number, SIZES.merged_entries))


@dataclass(frozen=True, slots=True, eq=False)
class TrackEntries(_Columns):
    """The n entries of a track at one level, by lane and then by start. Each event is in exactly one of them.

    Attributes:
        start: int64[n], start of the first event in ns.
        end: int64[n], latest end.
        busy: int64[n], sum of durations in ns.
        count: int32[n], events.
        longest: int32[n], position of the longest event in `TrackEvents`; of equals the first.
        longest_ns: int64[n], its duration.
        lane: uint16[n].
    """

    start: Times
    end: Times
    busy: Times
    count: NDArray[np.int32]
    longest: Rows
    longest_ns: Times
    lane: NDArray[np.uint16]

    @classmethod
    def alone(cls, events: TrackEvents, first: int, last: int) -> TrackEntries:
        """Each of some events as an entry of its own."""
        ts, dur, lane = events.ts[first:last], events.dur[first:last], events.lane[first:last]
        count, rows = np.ones(ts.size, np.int32), np.arange(first, first + ts.size, dtype=np.int32)
        return cls(ts, ts + dur, dur, count, rows, dur, lane)

    def __len__(self) -> int:
        return self.start.size

    def __getitem__(self, chosen: Any) -> TrackEntries:
        """Those at some positions."""
        return TrackEntries(*(getattr(self, one.name)[chosen] for one in fields(self)))

    def merged(self, level: int) -> TrackEntries:
        """TrackEntries at a coarser level, whose buckets are `2 ** level` ns wide.

        Neighbours of a lane that are each shorter than a bucket and start in the same one become a run; events at
        least as long as a bucket stay alone. Buckets of a level are made of whole buckets of finer ones, so that
        merging level by level and at once is the same.
        """
        size, parts, number = SIZES.merged_entries, list[TrackEntries](), len(self)
        for first in range(0, number, size):
            part = self[first : first + size]
            # The last run may go on.
            part = TrackEntries.joined([parts.pop(), part]) if parts else part
            merged = TrackEntries(*merge(level, [getattr(part, one.name) for one in fields(TrackEntries)]))
            parts += [merged[:-1], merged[-1:]]
        return self if sum(map(len, parts)) == number else TrackEntries.joined(parts)

    @classmethod
    def joined(cls, parts: list[TrackEntries]) -> TrackEntries:
        """TrackEntries of several lanes, one after the other."""
        return cls(*(np.concatenate([getattr(part, one.name) for part in parts]) for one in fields(cls)))
