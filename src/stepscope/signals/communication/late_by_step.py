"""How much longer others wait than each rank, step by step: whether a rank is late again and again, or by chance."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from stepscope.signals.communication.rank_times import RankTimes

#: Noise makes a rank late in one step or another; in so many, or all where there are fewer, hardly ever the same one.
_STEPS: Final = 3
#: Standard errors from which on lateness is no chance.
_SURE: Final = 5
#: The median absolute deviation of a normal distribution times this is its standard deviation.
_NORMAL: Final = 1.4826


@dataclass(frozen=True, slots=True)
class LaterByStep:
    """How much longer others waited than each of m ranks, in each of the n steps that all have.

    Attributes:
        ranks: The m ranks.
        common: The n steps.
        later: int64[m, n] ns, beyond the median of the others.
        noise: Standard deviation of that from step to step, in ns.
        waits: For each rank that came last of all: which ranks waited for it, in which steps and how long, as places
            in `ranks` and `common` and ns.
    """

    ranks: tuple[int, ...]
    common: tuple[int, ...]
    later: NDArray[np.int64]
    noise: float
    waits: Mapping[int, Sequence[tuple[int, int, int]]]

    @property
    def steps(self) -> int:
        """The number of common steps."""
        return len(self.common)

    @classmethod
    def of(cls, same: Mapping[int, RankTimes]) -> LaterByStep:
        """Compare two ranks or more that do the same."""
        each = {rank: dict(one.waits) for rank, one in same.items()}
        common = sorted(set.intersection(*(set(waits) for waits in each.values())))
        later = later_than_others(np.array([[waits[step] for step in common] for waits in each.values()], np.int64))
        changes = np.abs(np.diff(later, axis=1))
        # Of two values the difference varies by the square root of 2 more than each.
        noise = _NORMAL * float(np.median(changes)) / 2**0.5 if changes.size else 0.0
        return cls(tuple(same), tuple(common), later, noise, _waits_by_last(same.values(), common))

    def again(self, rank: int, wait: int, least: float) -> bool:
        """Whether a rank is late in several steps, and more than by chance."""
        return not self.steps or self._again(self.later[self.ranks.index(rank)], wait, least)

    def awaited(self, rank: int, others: Set[int], least: float) -> tuple[int, int]:
        """How long others wait for a rank where it came last of all, ns per step, and the one of them that does least.

        The first is at most what they wait longer than it in all. Both are 0 if that is not so in three steps, since in
        fewer some rank comes last everywhere, or not more than by chance.
        """
        if self.steps < _STEPS:
            return 0, 0
        waits = np.zeros((len(self.ranks), self.steps), np.int64)
        for row, step, ns in self.waits.get(rank, ()):
            waits[row, step] += ns
        waits = waits[[one in others for one in self.ranks]]
        mine = np.minimum(np.median(waits, axis=0).astype(np.int64), self.later[self.ranks.index(rank)])
        wait = max(int(mine.mean()), 0)
        return (wait, int(waits.mean(axis=1).min())) if self._again(mine, wait, least) else (0, 0)

    def _again(self, mine: NDArray[np.int64], wait: int, least: float) -> bool:
        often = int(np.count_nonzero(mine >= least)) >= min(_STEPS, self.steps)
        return often and (self.steps < _STEPS or wait >= _SURE * self.noise / self.steps**0.5)


def with_steps(same: Mapping[int, RankTimes]) -> Mapping[int, RankTimes]:
    """Ranks with at least half as many steps as any has; all if that is one: one file that ends early tells of few."""
    most = max(len(one.waits) for one in same.values())
    found = {rank: one for rank, one in same.items() if 2 * len(one.waits) >= most}
    return found if len(found) > 1 else same


def _waits_by_last(same: Iterable[RankTimes], common: Sequence[int]) -> dict[int, list[tuple[int, int, int]]]:
    place = {step: at for at, step in enumerate(common)}
    waits = defaultdict[int, list[tuple[int, int, int]]](list)
    for row, one in enumerate(same):
        for step, last, ns in one.awaited:
            if step in place:
                waits[last].append((row, place[step], ns))
    return waits


def later_than_others(values: NDArray[np.int64]) -> NDArray[np.int64]:
    """For each row of waits, int64[m, n] with m > 1, how much longer the median of the other rows is, int64[m, n]."""
    m = values.shape[0]
    order = np.argsort(values, axis=0, kind="stable")
    place = np.empty_like(order)
    np.put_along_axis(place, order, np.arange(m)[:, None], axis=0)
    ranked = np.take_along_axis(values, order, axis=0)
    # Without one of m sorted values, the k-th is that at k, or the next one if the one left out comes before.
    low, high = (m - 2) // 2, (m - 1) // 2
    found = [np.take_along_axis(ranked, np.where(place <= k, k + 1, k), axis=0) for k in (low, high)]
    later: NDArray[np.int64] = (found[0] + found[1]) // 2 - values
    return later
