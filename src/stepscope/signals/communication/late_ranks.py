"""Which ranks make the others wait, by how much, and by what they take longer: the one definition of a late rank.

A rank is held against its like: the ranks of the same stage, where there is a pipeline, else all. What it waits less
than these is what they wait for it; what it waits itself, for other ranks or stages, is not its lateness. It is late

* if it hardly waits in collectives, less than 0.3 of what is usual: nobody holds it up there;
* if its like wait 1 % of the step longer than it, both the median of them and the one that waits least: that much
  shorter the step would be without it being late;
* if that is so in three of their common steps, or in all of fewer, and, of three or more, is five standard errors by
  what it changes from step to step. Noise makes some rank late in each step, but hardly the same one.

Its step is as long as that of its like, so that what it waits less it does something else: it computes, idles, copies
or transfers longer, or its steps begin later. These parts add up to its lateness, and the largest is the reason.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from statistics import median
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from stepscope.signals.communication.rank_times import RankTimes

Reason = Literal["compute", "host", "copies", "link", "start"]

#: What costs less of a step is not worth looking for.
LEAST: Final = 0.01
#: A rank that waits less than this part of what the others wait is the one that comes last.
_LAST: Final = 0.3
#: Noise makes a rank late in one step or another; in so many, or all where there are fewer, hardly ever the same one.
_STEPS: Final = 3
#: Standard errors from which on lateness is no chance.
_SURE: Final = 5
#: The median absolute deviation of a normal distribution times this is its standard deviation.
_NORMAL: Final = 1.4826


@dataclass(frozen=True, slots=True)
class LateRank:
    """A rank that others wait for.

    Attributes:
        rank: The rank.
        like: The other ranks of its stage that are not late; all of those of the job where there is no pipeline.
        wait_ns: Time per step that these wait longer than it, as a median.
        least_ns: The same of the one that waits least.
        share: wait_ns as a share of the median step of its like.
        parts: What it takes longer per step than the median of its like, in ns; they add up to wait_ns. `start` is what
            no part of its step explains: its steps are shorter, since they begin later.
        reason: The largest of them.
        steps: Steps that were compared.
        absent: Whether ranks that may be later are not at hand, or may not be.
    """

    rank: int
    like: tuple[int, ...]
    wait_ns: int
    least_ns: int
    share: float
    parts: Mapping[Reason, int]
    reason: Reason
    steps: int
    absent: bool


def late_ranks(times: Mapping[int, RankTimes | None], least: float = LEAST) -> dict[int, LateRank]:
    """The late ranks, the one that is waited for most first; none where nothing tells waiting from transfer.

    Args:
        times: Times of each rank at hand.
        least: Share of the step from which on waiting counts.
    """
    known = {rank: one for rank, one in times.items() if one is not None and one.waited_ns is not None}
    if not any(one.under_way for one in known.values()):
        return {}
    found = [late for same in stages(known) for late in _late({rank: known[rank] for rank in same}, least)]
    return {late.rank: late for late in sorted(found, key=lambda late: (-late.wait_ns, late.rank))}


def stages(times: Mapping[int, RankTimes]) -> list[tuple[int, ...]]:
    """Ranks that do the same: those of one stage of pipelines of one length, and those that are in no pipeline."""
    found = defaultdict[tuple[int, int | None], list[int]](list)
    for rank in sorted(times):
        found[len(times[rank].pipe), times[rank].place].append(rank)
    return [tuple(found[stage]) for stage in sorted(found, key=lambda stage: (stage[0], stage[1] or 0))]


def _late(same: Mapping[int, RankTimes], least: float) -> Iterator[LateRank]:
    """The late ones of ranks that do the same."""
    held = {rank: one.held_ns or 0 for rank, one in same.items()}
    usual = median(sorted(held.values())[len(held) // 2 :])
    last = [rank for rank in same if held[rank] <= _LAST * usual] if usual else []
    like = tuple(rank for rank in same if rank not in last)
    if not last or len(last) > len(like):
        return
    waits = {rank: one.waited_ns or 0 for rank, one in same.items()}
    others = [same[rank] for rank in like]
    step, by_step = _median(one.step_ns for one in others), None
    for rank in last:
        wait = _median(waits[one] for one in like) - waits[rank]
        gap = min(waits[one] for one in like) - waits[rank]
        if min(wait, gap) < least * step or wait <= 0:
            continue
        by_step = by_step or _ByStep.of(same)
        if not by_step.again(rank, wait, least * step):
            continue
        parts = _parts(same[rank], others, wait)
        absent = any(one.absent for one in same.values())
        reason = max(parts, key=lambda part: parts[part])
        yield LateRank(rank, like, wait, gap, wait / max(step, 1), parts, reason, max(by_step.steps, 1), absent)


def _parts(one: RankTimes, others: list[RankTimes], wait: int) -> dict[Reason, int]:
    found: dict[Reason, int] = {
        "compute": one.compute_ns - _median(other.compute_ns for other in others),
        "host": one.idle_ns - _median(other.idle_ns for other in others),
        "copies": one.exposed_copy_ns - _median(other.exposed_copy_ns for other in others),
        "link": one.transfer_ns - _median(other.transfer_ns for other in others),
    }
    return {**found, "start": wait - sum(found.values())}


def _median(values: Iterable[int]) -> int:
    return int(median(list(values)))


@dataclass(frozen=True, slots=True)
class _ByStep:
    """How much longer others waited than each of m ranks, in each of the n steps that all have.

    Attributes:
        ranks: The m ranks.
        later: int64[m, n] ns, beyond the median of the others.
        noise: Standard deviation of that from step to step, in ns.
    """

    ranks: tuple[int, ...]
    later: NDArray[np.int64]
    noise: float

    @property
    def steps(self) -> int:
        """The number of common steps."""
        return int(self.later.shape[1])

    @classmethod
    def of(cls, same: Mapping[int, RankTimes]) -> _ByStep:
        """Compare ranks that do the same."""
        each = {rank: dict(one.waits) for rank, one in same.items()}
        common = sorted(set.intersection(*(set(waits) for waits in each.values())))
        waits = np.array([[waits[step] for step in common] for waits in each.values()], np.int64)
        later = _median_of_others(waits) - waits
        changes = np.abs(np.diff(later, axis=1))
        # Of two values the difference varies by the square root of 2 more than each.
        noise = _NORMAL * float(np.median(changes)) / 2**0.5 if changes.size else 0.0
        return cls(tuple(same), later, noise)

    def again(self, rank: int, wait: int, least: float) -> bool:
        """Whether a rank is late in several steps, and more than by chance."""
        if not self.steps:
            return True
        mine = self.later[self.ranks.index(rank)]
        often = int(np.count_nonzero(mine >= least)) >= min(_STEPS, self.steps)
        return often and (self.steps < _STEPS or wait >= _SURE * self.noise / self.steps**0.5)


def _median_of_others(values: NDArray[np.int64]) -> NDArray[np.int64]:
    """For each row of int64[m, n], m > 1, the median of the other rows, int64[m, n]."""
    m = values.shape[0]
    order = np.argsort(values, axis=0, kind="stable")
    place = np.empty_like(order)
    np.put_along_axis(place, order, np.arange(m)[:, None], axis=0)
    ranked = np.take_along_axis(values, order, axis=0)
    # Without one of m sorted values, the k-th is that at k, or the next one if the one left out comes before.
    low, high = (m - 2) // 2, (m - 1) // 2
    found = [np.take_along_axis(ranked, np.where(place <= k, k + 1, k), axis=0) for k in (low, high)]
    middle: NDArray[np.int64] = (found[0] + found[1]) // 2
    return middle
