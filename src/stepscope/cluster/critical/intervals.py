"""Parts of a rank's critical path, few enough to be sent: short ones that follow each other are one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from itertools import accumulate
from typing import Final, NamedTuple

from stepscope.analyses.stepgraph.labels import Label

#: Intervals of a stretch that is cut finely; what takes a smaller part of it is put together with what is beside it.
FINE: Final = 8


class MixedSegment(NamedTuple):
    """An interval of the path before segments are put together.

    Attributes:
        start: In ns.
        end: In ns.
        mix: What it is made of, which adds up to its length.
        event: Event of it that takes longest; -1 for none.
        event_ns: How long that takes.
    """

    start: int
    end: int
    mix: Counter[Label]
    event: int
    event_ns: int

    @property
    def label(self) -> Label:
        """What takes most of it; of equal parts the first by name."""
        return min(self.mix, key=lambda label: (-self.mix[label], label[0], label[1] or ""))


class PathInterval(NamedTuple):
    """An interval of a rank's critical path, in the rank's own time.

    Attributes:
        start: In ns.
        end: In ns.
        part: What takes most of it, as in `critical_path`.
        detail: Likewise.
        part_ns: How much of it that takes.
        name: Name of the event that takes longest; None for none.
    """

    start: int
    end: int
    part: str
    detail: str | None
    part_ns: int
    name: str | None


def joined(segments: list[MixedSegment], short: int) -> list[MixedSegment]:
    """Segments that follow each other, the last first, put together: to at most 2 x `FINE` + 1.

    Args:
        segments: The segments.
        short: Those of up to so many ns are put together even where they are few.
    """
    found = _apart(_runs(segments, (segment.label for segment in segments)), short)
    if len(found) <= 2 * FINE + 1:
        return found
    # Fewer than `FINE` segments are longer than that.
    return _apart(found, (found[0].end - found[-1].start) // FINE)


def _apart(segments: list[MixedSegment], short: int) -> list[MixedSegment]:
    """Leave long segments alone, and put together the others: with each other, and if that is little with the next."""
    runs = _runs(segments, (at if segment.end - segment.start > short else None for at, segment in enumerate(segments)))
    longs = accumulate(segment.end - segment.start > short for segment in runs)
    return _runs(runs, (max(number, 1) for number in longs))


def _runs(segments: list[MixedSegment], keys: Iterable[object]) -> list[MixedSegment]:
    """Neighbours of equal keys put together."""
    found: list[MixedSegment] = []
    before: object = segments
    for segment, key in zip(segments, keys, strict=True):
        if key == before:
            later = found[-1]
            event = max(later[3:], segment[3:], key=lambda one: one[1])
            found[-1] = MixedSegment(segment.start, later.end, later.mix + segment.mix, *event)
        else:
            found.append(segment)
        before = key
    return found
