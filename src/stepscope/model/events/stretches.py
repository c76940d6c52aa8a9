"""Stretches of host threads whose events can be nested apart, so that memory is bounded."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from stepscope.model.intervals import Times
from stepscope.model.sizes import SIZES


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


def stretches(
    threads: Iterable[tuple[int, int]], times: Callable[[int], tuple[Times, Times]], events: int | None = None
) -> Iterator[Stretch]:
    """Threads by number and time, about so many events at a time.

    A thread is cut only where nothing goes on, so that what is nested apart would not nest in each other.

    Args:
        threads: Each thread and the number of its events.
        times: Begins and ends of a thread's events, in any order; asked only of threads with many. They are
            changed.
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
    """Positions of events before which all earlier ones have ended, about so many events apart.

    Args:
        starts: Begins of a thread's events, ascending.
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
    """Moments at which nothing is open, or at which all that is open ends as something that lasts begins (steps do).

    What has no duration belongs to what begins there before it belongs to what ends there (`nesting.nest`).
    """
    lasting = starts[ends > starts]
    lasting.sort()
    np.maximum(ends, starts + 1, out=ends)
    if lasting.size:
        ends -= lasting[np.minimum(np.searchsorted(lasting, ends), lasting.size - 1)] == ends
    starts.sort()
    ends.sort()
    return [int(starts[position]) for position in quiet(starts, ends, events)]
