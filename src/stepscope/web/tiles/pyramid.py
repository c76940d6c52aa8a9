"""Level of detail of one track: entries of any range at any level, from levels that are computed once."""

from __future__ import annotations

from dataclasses import dataclass, fields
from itertools import pairwise
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from stepscope.model.intervals import Times
from stepscope.model.sizes import SIZES
from stepscope.native.runs import count_runs
from stepscope.web.tiles.entries import TrackEntries, TrackEvents, lane_edges

#: Levels are kept that have at most this share of the entries of the next finer one that is kept.
_SHARE: Final = 0.25
#: Coarsest level: buckets of five hours.
COARSEST: Final = 44

Arrays = dict[str, NDArray[Any]]


@dataclass(frozen=True, slots=True, eq=False)
class _Level:
    """Entries at one level, with what finds a range of them.

    Attributes:
        level: Buckets are `2 ** level` ns wide; -1 for the events themselves.
        rows: The entries by lane and start, or the events where each is an entry of its own.
        start: int64[n].
        lanes: int64[lanes + 1], where each lane starts.
        reach: int64[n], latest end of the lane's entries up to each one.
    """

    level: int
    rows: TrackEntries | TrackEvents
    start: Times
    lanes: Times
    reach: Times

    @classmethod
    def of(cls, level: int, entries: TrackEntries, lanes: int) -> _Level:
        edges = lane_edges(entries.lane, lanes)
        reach = entries.end
        falls = reach[1:] < reach[:-1]
        falls &= entries.lane[1:] == entries.lane[:-1]
        if falls.any():
            reach = np.concatenate([np.maximum.accumulate(reach[a:b]) for a, b in pairwise(edges)])
        return cls(level, entries, entries.start, edges, reach)

    def within(self, lo: int, hi: int, margin: int) -> TrackEntries:
        """Those that touch [lo, hi), and those that start up to `margin` before, which may belong to their runs."""
        parts = []
        for since, end in pairwise(self.lanes.tolist()):
            last = since + int(np.searchsorted(self.start[since:end], hi, "left"))
            first = since + int(np.searchsorted(self.reach[since:last], lo, "left"))
            first = min(first, since + int(np.searchsorted(self.start[since:last], lo - margin, "left")))
            if first < last:
                parts.append(self._taken(first, last))
        return TrackEntries.joined(parts) if parts else self._taken(0, 0)

    def _taken(self, first: int, last: int) -> TrackEntries:
        if isinstance(self.rows, TrackEvents):
            return TrackEntries.alone(self.rows, first, last)
        return self.rows[first:last]

    @property
    def nbytes(self) -> int:
        rows = 0 if isinstance(self.rows, TrackEvents) else self.rows.nbytes
        return rows + self.reach.nbytes


class Pyramid:
    """The events of a track, and runs of them at some levels; other levels are made from the next finer one."""

    def __init__(self, events: TrackEvents, levels: list[_Level]) -> None:
        self.events = events
        self._levels = levels

    @classmethod
    def of(cls, events: TrackEvents) -> Pyramid:
        """Compute the levels of a track."""
        lanes, kept = events.lanes, events.ts.size
        counts, reach = count_runs(events.ts, events.dur, events.lane, SIZES.merged_entries)
        levels = [_Level(-1, events, events.ts, lane_edges(events.lane, lanes), reach)]
        for level, number in enumerate(counts[: COARSEST + 1].tolist() if kept > lanes else []):
            if number <= _SHARE * kept:
                rows = levels[-1].rows
                entries = rows.merged(level) if isinstance(rows, TrackEntries) else events.merged(level, number)
                levels.append(_Level.of(level, entries, lanes))
                kept = number
            if number <= lanes:
                break
        return cls(events, levels)

    @property
    def nbytes(self) -> int:
        """Bytes in memory."""
        return self.events.nbytes + sum(level.nbytes for level in self._levels)

    def to_arrays(self) -> Arrays:
        """All columns by name."""
        arrays: Arrays = {f"events.{one.name}": getattr(self.events, one.name) for one in fields(TrackEvents)}
        arrays["levels"] = np.array([level.level for level in self._levels], np.int64)
        for number, level in enumerate(self._levels):
            arrays |= {f"{number}.lanes": level.lanes, f"{number}.reach": level.reach}
            if isinstance(level.rows, TrackEntries):
                rows = level.rows
                arrays |= {f"{number}.{one.name}": getattr(rows, one.name) for one in fields(TrackEntries)}
        return arrays

    @classmethod
    def from_arrays(cls, arrays: Arrays) -> Pyramid:
        """The inverse of `to_arrays`.

        Raises:
            KeyError: These are other arrays.
        """
        events = TrackEvents(*(arrays[f"events.{one.name}"] for one in fields(TrackEvents)))
        levels = []
        for number, level in enumerate(arrays["levels"].tolist()):
            lanes, reach = arrays[f"{number}.lanes"], arrays[f"{number}.reach"]
            if number:
                rows = TrackEntries(*(arrays[f"{number}.{one.name}"] for one in fields(TrackEntries)))
                levels.append(_Level(level, rows, rows.start, lanes, reach))
            else:
                levels.append(_Level(level, events, events.ts, lanes, reach))
        return cls(events, levels)

    def entries(self, lo: int, hi: int, level: int) -> TrackEntries:
        """The entries at a level that touch [lo, hi), both whole numbers of buckets.

        An entry touches where one of its events overlaps the range or starts in it, so that each is among those of the
        range that it starts in.
        """
        finer = next(one for one in reversed(self._levels) if one.level <= level)
        found = finer.within(lo, hi, 1 << level).merged(level)
        touching = (found.end > lo) | (found.start >= lo)
        return found if touching.all() else found[touching]
