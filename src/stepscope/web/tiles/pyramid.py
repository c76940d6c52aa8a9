"""Level of detail of one track: entries of any range at any level, from levels that are computed once."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np

from stepscope.model.intervals import Times
from stepscope.web.tiles.entries import TrackEntries, TrackEvents

#: Levels are kept that have at most this share of the entries of the next finer one that is kept.
_SHARE: Final = 0.25
#: Coarsest level: buckets of five hours.
COARSEST: Final = 44


@dataclass(frozen=True, slots=True, eq=False)
class _Level:
    """TrackEntries at one level, with what finds a range of them.

    Attributes:
        level: Buckets are `2 ** level` ns wide; -1 for the events themselves.
        entries: By lane, then by start.
        lanes: int64[lanes + 1], where each lane begins.
        reach: int64[n], latest end of the lane's entries up to each one.
    """

    level: int
    entries: TrackEntries
    lanes: Times
    reach: Times

    @classmethod
    def of(cls, level: int, entries: TrackEntries, lanes: int) -> _Level:
        edges = np.searchsorted(entries.lane, np.arange(lanes + 1))
        reach = entries.end
        falls = reach[1:] < reach[:-1]
        falls &= entries.lane[1:] == entries.lane[:-1]
        if falls.any():
            parts = [np.maximum.accumulate(reach[a:b]) for a, b in pairwise(edges)]
            reach = np.concatenate(parts)
        return cls(level, entries, edges, reach)

    def within(self, lo: int, hi: int, margin: int) -> TrackEntries:
        """Those that touch [lo, hi), and those that start up to `margin` before, which may belong to their runs."""
        entries, parts = self.entries, []
        for since, end in pairwise(self.lanes.tolist()):
            last = since + int(np.searchsorted(entries.start[since:end], hi, "left"))
            first = since + int(np.searchsorted(self.reach[since:last], lo, "left"))
            first = min(first, since + int(np.searchsorted(entries.start[since:last], lo - margin, "left")))
            if first < last:
                parts.append(entries[first:last])
        return TrackEntries.joined(parts) if parts else entries[:0]

    @property
    def nbytes(self) -> int:
        return self.entries.nbytes + (0 if self.reach is self.entries.end else self.reach.nbytes)


class Pyramid:
    """The events of a track, and runs of them at some levels; other levels are made from the next finer one."""

    def __init__(self, events: TrackEvents) -> None:
        self.events = events
        lanes = events.lanes
        self._levels = [_Level.of(-1, TrackEntries.alone(events), lanes)]
        level, entries = 0, self._levels[0].entries
        while level <= COARSEST and len(entries) > lanes:
            entries = entries.merged(level)
            if len(entries) <= _SHARE * len(self._levels[-1].entries):
                self._levels.append(_Level.of(level, entries, lanes))
            level += 1

    @property
    def nbytes(self) -> int:
        """Bytes in memory."""
        return self.events.nbytes + sum(level.nbytes for level in self._levels)

    def entries(self, lo: int, hi: int, level: int) -> TrackEntries:
        """The entries at a level that touch [lo, hi), both whole numbers of buckets.

        An entry touches where one of its events overlaps the range or starts in it, so that each is among those of the
        range that it starts in.
        """
        finer = next(one for one in reversed(self._levels) if one.level <= level)
        found = finer.within(lo, hi, 1 << level).merged(level)
        touching = (found.end > lo) | (found.start >= lo)
        return found if touching.all() else found[touching]
