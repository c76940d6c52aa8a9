"""Split host threads into stretches whose events nest independently, so that memory stays bounded."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from stepscope.model.intervals import Times
from stepscope.model.sizes import SIZES


@dataclass(frozen=True, slots=True)
class Stretch:
    """A half-open time range of some threads; None stands for the recording's start or end."""

    tracks: tuple[int, ...]
    start: int | None = None
    stop: int | None = None

    @property
    def condition(self) -> str:
        """SQL condition on columns `track` and `ts` that selects the stretch."""
        tests = [f"track IN ({', '.join(map(str, self.tracks))})"]
        tests += [] if self.start is None else [f"ts >= {self.start}"]
        tests += [] if self.stop is None else [f"ts < {self.stop}"]
        return " AND ".join(tests)


def stretches(
    threads: Iterable[tuple[int, int]], times: Callable[[int], tuple[Times, Times]], events: int | None = None
) -> Iterator[Stretch]:
    """Split threads into stretches of about `events` events.

    Threads are cut only where no event is open, so that no event nests in one of another stretch.

    Args:
        threads: Each thread and the number of its events.
        times: Returns starts and ends of a thread's events in any order; called for long threads only. The arrays
            are changed.
        events: About how many to nest together; None for `SIZES.nested_events`.
    """
    events = SIZES.nested_events if events is None else events
    tracks: list[int] = []
    total = 0
    for track, count in threads:
        if tracks and total + count > events:
            yield Stretch(tuple(tracks))
            tracks, total = [], 0
        if count > 2 * events:
            edges = [None, *_cuts(*times(track), events), None]
            yield from (Stretch((track,), *pair) for pair in pairwise(edges))
        else:
            tracks.append(track)
            total += count
    if tracks:
        yield Stretch(tuple(tracks))


def quiet(starts: Times, ends: Times, events: int | None = None) -> list[int]:
    """Positions of events that start after all earlier ones have ended, about `events` apart.

    Args:
        starts: Start times of a thread's events, ascending.
        ends: Their ends, ascending.
        events: About how many events are to lie between two positions; None for `SIZES.nested_events`.
    """
    events = SIZES.nested_events if events is None else events
    if starts.size <= events:
        return []
    still = np.flatnonzero(starts[1:] > ends[:-1]) + 1
    found: list[int] = []
    last = 0
    while starts.size - last > events:
        # The last quiet moment that is not too far, else the first one beyond.
        at = int(np.searchsorted(still, last + events, side="right"))
        at -= int(at > 0 and still[at - 1] > last)
        if at == still.size:
            break
        last = int(still[at])
        found.append(last)
    return found


def _cuts(starts: Times, ends: Times, events: int) -> list[int]:
    """Times at which nothing is open, or at which every open event ends as one with a duration starts (as steps do).

    An event without duration belongs to an event that starts there before one that ends there (`nesting.nest`).
    """
    lasting = starts[ends > starts]
    lasting.sort()
    np.maximum(ends, starts + 1, out=ends)
    if lasting.size:
        ends -= lasting[np.minimum(np.searchsorted(lasting, ends), lasting.size - 1)] == ends
    starts.sort()
    ends.sort()
    return [int(starts[position]) for position in quiet(starts, ends, events)]
