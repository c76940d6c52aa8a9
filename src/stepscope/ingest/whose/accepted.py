"""The spans that one owner has so far, and whether a further recording fits beside them."""

from __future__ import annotations

from bisect import bisect_left, insort
from typing import Final

from stepscope.ingest.whose.found import FoundRecordings
from stepscope.ingest.whose.names import time_in
from stepscope.ingest.whose.runs import at_once

#: Spans that begin before a moment and end after it, at most: of three, the second would lie within the other two, and
#: one of these would cover more than half of it, or each a half. So few that begin inside a recording end outside it;
#: the first that ends inside decides.
_AROUND: Final = 3


class AcceptedSpans:
    """The recordings of one owner, none of which was made while another was.

    Adding one and comparing one with all take logarithmic time: an owner may have a thousand.

    Args:
        named: Whether the owner is a worker's name, which no two jobs share, rather than a rank.
    """

    def __init__(self, named: bool) -> None:
        self._named = named
        self._same: set[tuple[object, ...]] = set()
        #: Whether a recording's times are known, and whether its name holds one: what occurs.
        self._known: set[tuple[bool, bool]] = set()
        self._only_part = False
        #: Recordings of some length, in order of time.
        self._ordered: list[tuple[int, int, FoundRecordings]] = []

    def has(self, one: FoundRecordings) -> bool:
        """Whether the same recording is among them, from another file."""
        return one.recording.origin_unix_ns is not None and _identity(one) in self._same

    def conflict(self, one: FoundRecordings) -> bool:
        """Whether a recording can't follow or precede all of them: it covers the same time, or its time is unknown."""
        if not self._known:
            return False
        if self._only_part or one.only_part or self._at_once(one):
            return True
        timed, dated = _times_known(one)
        return not self._named and any(
            not (timed and other_timed) and not (dated and other_dated) for other_timed, other_dated in self._known
        )

    def add(self, one: FoundRecordings) -> None:
        """Add a recording without conflict."""
        self._same.add(_identity(one))
        self._known.add(_times_known(one))
        self._only_part |= one.only_part
        between = one.between()
        if between is not None and between[0] < between[1]:
            insort(self._ordered, (*between, one), key=lambda span: span[:2])

    def _at_once(self, one: FoundRecordings) -> bool:
        between = one.between()
        if between is None:
            return False
        following = bisect_left(self._ordered, between)
        for position in range(max(following - _AROUND, 0), len(self._ordered)):
            start, _, other = self._ordered[position]
            if start >= between[1]:
                return False
            if at_once(one, other):
                return True
        return False


def _identity(one: FoundRecordings) -> tuple[object, ...]:
    known = one.recording
    return known.part, known.origin_unix_ns, known.events, known.reader, one.between()


def _times_known(one: FoundRecordings) -> tuple[bool, bool]:
    return one.between() is not None, time_in(one.path) is not None
