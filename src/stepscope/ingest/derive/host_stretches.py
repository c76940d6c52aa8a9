"""Which host events are nested together: those of several threads, or a part of a thread that has many."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np

from stepscope.store.staging import Staging

#: Events that are nested together, about; each takes some 500 bytes while it is.
_EVENTS: Final = 500_000

_COUNTS_SQL: Final = (
    "SELECT track, count(*) FROM raw_events JOIN tracks USING (track) WHERE kind = 'host' GROUP BY 1 ORDER BY 1"
)
_TIMES_SQL: Final = "SELECT ts, ts + coalesce(dur, 0) AS stop FROM raw_events WHERE track = ?"


@dataclass(frozen=True, slots=True)
class Stretch:
    """Some threads, from one moment to before another; None stands for the ends of the recording."""

    tracks: tuple[int, ...]
    begin: int | None = None
    stop: int | None = None

    @property
    def condition(self) -> str:
        """SQL that chooses what lies there, by the columns `track` and `ts`."""
        tests = [f"track IN ({', '.join(map(str, self.tracks))})"]
        tests += [] if self.begin is None else [f"ts >= {self.begin}"]
        tests += [] if self.stop is None else [f"ts < {self.stop}"]
        return " AND ".join(tests)


def stretches(staging: Staging, events: int = _EVENTS) -> Iterator[Stretch]:
    """All host threads by number and time, about so many events at a time.

    A thread is cut only where nothing is open, so that what is nested apart would not nest in each other.
    """
    tracks: list[int] = []
    total = 0
    for track, count in staging.connection.execute(_COUNTS_SQL).fetchall():
        if tracks and total + count > events:
            yield Stretch(tuple(tracks))
            tracks, total = [], 0
        if count > 2 * events:
            edges = [None, *_cuts(staging, track, events), None]
            yield from (Stretch((track,), *pair) for pair in pairwise(edges))
        else:
            tracks.append(track)
            total += count
    if tracks:
        yield Stretch(tuple(tracks))


def _cuts(staging: Staging, track: int, events: int) -> list[int]:
    """Begins of events of a thread before which all earlier ones have ended, about so many events apart."""
    rows = staging.connection.execute(_TIMES_SQL, [track]).fetchnumpy()
    starts, ends = rows["ts"], rows["stop"]
    starts.sort()
    ends.sort()
    quiet = np.flatnonzero(starts[1:] > ends[:-1]) + 1
    cuts: list[int] = []
    last = 0
    while True:
        # The last quiet moment that is not too far, else the first one beyond.
        at = int(np.searchsorted(quiet, last + events, side="right"))
        if at and quiet[at - 1] > last:
            at -= 1
        if at == quiet.size or starts.size - last <= events:
            return cuts
        last = int(quiet[at])
        cuts.append(int(starts[last]))
