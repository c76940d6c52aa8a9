"""The critical path across ranks: from the end of the step back to its start, and over to whoever came last."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from stepscope.analyses.stepgraph.labels import MOVING
from stepscope.cluster.critical.intervals import PathInterval
from stepscope.cluster.critical.matched_calls import CallKey, MatchedCall
from stepscope.cluster.critical.rank_path import PathStop, RankPath

#: The path has come to where a rank's step begins, and another rank has begun earlier.
LATE: Final = ("unknown", "the rank's step begins later")
#: The path leads to a rank of which no recording is at hand, or that did not tell.
ELSEWHERE: Final = ("unknown", "on a rank that is not at hand")


@dataclass(frozen=True, slots=True)
class RankInterval:
    """An interval of the path across ranks, in time since the start of the job's step.

    Attributes:
        rank: Rank.
        start: In ns.
        end: In ns.
        part: As in `critical_path`.
        detail: Likewise.
        part_ns: How much of it that takes.
        name: Event that takes longest in it.
        call: The collective or message that it is; None for others.
        from_rank: Rank from which the path comes here with that: this rank has waited for it.
        waited_ns: How long it has waited.
    """

    rank: int
    start: int
    end: int
    part: str
    detail: str | None
    part_ns: int
    name: str | None = None
    call: MatchedCall | None = None
    from_rank: int | None = None
    waited_ns: int | None = None

    def goes_on_from(self, before: RankInterval) -> bool:
        """Whether this is more of the same as the interval before it."""
        alone = self.call is None and before.call is None and self.from_rank is None
        return alone and (self.rank, self.part, self.detail) == (before.rank, before.part, before.detail)


@dataclass(slots=True)
class _Back:
    """The walk; `hi` is where it has come to."""

    paths: Mapping[int, RankPath]
    shift: Mapping[int, int]
    lo: int
    hi: int
    found: list[RankInterval] = field(default_factory=list)

    def tile(self, rank: int, start: int, part: str, detail: str | None, part_ns: int, name: str | None = None,
             call: MatchedCall | None = None) -> bool:  # fmt: skip
        """Go back to `start`; returns whether any time lay in between."""
        start = max(start, self.lo)
        if start >= self.hi:
            return False
        length = self.hi - start
        new = RankInterval(rank, start - self.lo, self.hi - self.lo, part, detail, min(part_ns, length), name, call)
        later = self.found[-1] if self.found else None
        if later is not None and later.goes_on_from(new):
            longer = max((later, new), key=lambda one: one.end - one.start).name
            self.found[-1] = replace(later, start=new.start, part_ns=later.part_ns + new.part_ns, name=longer)
        else:
            self.found.append(new)
        self.hi = start
        return True

    def intervals(self, rank: int, parts: Iterable[PathInterval], call: MatchedCall | None = None) -> None:
        """Go back over intervals of a rank."""
        for one in parts:
            self.tile(rank, one.start + self.shift[rank], one.part, one.detail, one.part_ns, one.name, call)

    def cross(self, rank: int, stop: PathStop, other: int, theirs: PathStop) -> None:
        """Go over to another rank, which came last: both have moved data since."""
        came = min(max(theirs.start + self.shift[other], self.lo), self.hi)
        told = self.tile(rank, came, *MOVING, self.hi - came, call=stop.call)
        if self.found and (told or self.found[-1].from_rank is None):
            waited = max(came - max(stop.start + self.shift[rank], self.lo), 0)
            self.found[-1] = replace(self.found[-1], from_rank=other, waited_ns=waited)


def across_ranks(paths: Mapping[int, RankPath], shift: Mapping[int, int]) -> list[RankInterval]:
    """The intervals of the path in time order, which tile the step: from its first start on any rank to its last end.

    Args:
        paths: What each rank contributes; at least one.
        shift: What makes times of each rank comparable, ns to be added.
    """
    lo = min(path.start + shift[rank] for rank, path in paths.items())
    hi, rank = max((path.end + shift[rank], -rank) for rank, path in paths.items())
    back = _Back(paths, shift, lo, hi)
    met = {
        (rank, stop.call.key): stop
        for rank, path in paths.items()
        for stop in path.stops
        if stop.call is not None and (stop.call.message or stop.call.other == rank)
    }
    _walk(back, -rank, met)
    return back.found[::-1]


def _walk(back: _Back, rank: int, met: Mapping[tuple[int, CallKey], PathStop]) -> None:
    stop, crossed = back.paths[rank].stops[0], set[CallKey]()
    while True:
        back.intervals(rank, stop.before)
        if stop.then < 0:
            back.tile(rank, back.lo, *LATE, back.hi - back.lo)
            return
        stop = back.paths[rank].stops[stop.then]
        call = stop.call
        if call is None:
            back.intervals(rank, stop.own)
            continue
        theirs = None if call.other == rank else met.get((call.other, call.key))
        leaves = not call.message and call.other != rank
        if theirs is not None and call.key not in crossed and _was_last(back, rank, stop, theirs):
            crossed.add(call.key)
            back.cross(rank, stop, call.other, theirs)
            rank, stop = call.other, theirs
        elif leaves:
            back.intervals(rank, stop.own, call)
            back.tile(rank, back.lo, *ELSEWHERE, back.hi - back.lo)
            return
        elif theirs is not None or not call.message:
            start = stop.start + back.shift[rank]
            back.tile(rank, start, *MOVING, back.hi - start, call=call)
        else:
            back.intervals(rank, stop.own, call)


def _was_last(back: _Back, rank: int, stop: PathStop, theirs: PathStop) -> bool:
    """Whether the other rank came last; of messages both tell, the one that came later counts."""
    call = stop.call
    assert call is not None
    return not call.message or theirs.start + back.shift[call.other] > stop.start + back.shift[rank]
