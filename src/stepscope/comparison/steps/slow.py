"""Steps that take far longer than the usual ones, on both sides: stalls, and the slower of two kinds of steps."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from math import log, sqrt
from statistics import NormalDist
from typing import Final

import numpy as np

from stepscope.comparison.noise.modes import APART, chance_of_share
from stepscope.comparison.noise.ratio import ASSUMED_SPREAD
from stepscope.comparison.noise.shift import shift
from stepscope.comparison.noise.student import quantile
from stepscope.comparison.steps.recorded import SLOW, RecordedStep, usual

#: Steps from which a side tells how much its usual ones vary.
_SPREAD: Final = 3
#: Standard deviation that a part of a step has at least, as a share of the step.
_LEAST_SPREAD: Final = 0.005


@dataclass(frozen=True, slots=True)
class SlowSteps:
    """The slow steps of a side.

    Attributes:
        steps: Them, in time order.
        of: Complete steps after the start.
        usual_ns: Mean of the usual steps, those neither slow nor at the start; 0 without any.
        excess_ns: By how much all slow ones together are longer than as many usual ones.
        at: Part of the step that most of the excess lies in; empty if the recording does not tell.
        period: Every how many steps one is slow; 0 if that varies, or fewer than two are.
        recurring: Whether they are one of two kinds of steps rather than single ones.
        starting: Steps at the start that take longer than the usual ones, which no verdict rests on.
    """

    steps: tuple[RecordedStep, ...] = ()
    of: int = 0
    usual_ns: int = 0
    excess_ns: int = 0
    at: str = ""
    period: int = 0
    recurring: bool = False
    starting: tuple[RecordedStep, ...] = ()

    @property
    def count(self) -> int:
        """How many are slow."""
        return len(self.steps)

    @property
    def lost_ns(self) -> int:
        """What they cost each step on average."""
        return self.excess_ns // self.of if self.of else 0

    @property
    def mean_ns(self) -> int:
        """Mean length of the slow ones; 0 without any."""
        return sum(one.ns for one in self.steps) // self.count if self.count else 0


@dataclass(frozen=True, slots=True)
class SlowShift:
    """Slow steps of both sides.

    Attributes:
        base: Those of the base.
        new: Those of the new side.
        sure: Whether what they cost differs by more than noise: one side has none of them and the other's are longer
            than its spread explains, or their share, their length or what makes them longer differs. A single one that
            only the base has is no proof that it is gone for good; a single new one is reported.
    """

    base: SlowSteps = field(default_factory=SlowSteps)
    new: SlowSteps = field(default_factory=SlowSteps)
    sure: bool = False

    @property
    def diff_ns(self) -> int:
        """What the new side loses more per step."""
        return self.new.lost_ns - self.base.lost_ns


def slow_shift(base: Sequence[RecordedStep], new: Sequence[RecordedStep], confidence: float) -> SlowShift:
    """The slow steps of both sides, and whether they differ for sure."""
    quick = [usual(steps) for steps in (base, new)]
    # Of requests that overlap, what a long one takes is not taken by the next ones: none of them is a stall.
    if not all(quick) or not all(one.ns for steps in quick for one in steps):
        return SlowShift()
    means = [sum(one.ns for one in steps) / len(steps) for steps in quick]
    two_kinds = [len(mine) < sum(1 for one in steps if one.role == "typical")
                 for mine, steps in zip(quick, (base, new), strict=True)]  # fmt: skip
    if two_kinds[0] != two_kinds[1]:
        _put_beside(quick, means, two_kinds, (base, new))
    elif not any(two_kinds):
        for i in (0, 1):
            quick[i] = _below(quick[i], quick[1 - i], confidence)
    sides = []
    ends = [_ends_slow(steps, mean) for steps, mean in zip((base, new), means, strict=True)]
    # Where both start slowly, what one does beyond as many steps is no start.
    started = min(len(_starting(steps, mean)) for steps, mean in zip((base, new), means, strict=True)) or None
    for i, steps in enumerate((base, new)):
        # What the profiler's stop adds on both sides is no stall.
        sides.append(_slow(steps, quick[i], means[i], all(ends), started))
    return SlowShift(sides[0], sides[1], _sure(sides[0], sides[1], quick, confidence))


def _put_beside(
    quick: list[tuple[RecordedStep, ...]],
    means: list[float],
    two_kinds: Sequence[bool],
    sides: tuple[Sequence[RecordedStep], ...],
) -> None:
    """Where one side has two kinds of steps and the other has one, which of the two that is."""
    with_two, with_one = (0, 1) if two_kinds[0] else (1, 0)
    slow = [one.ns for one in sides[with_two] if one.role == "typical" and one not in quick[with_two]]
    high, only, low = sum(slow) / len(slow), means[with_one], means[with_two]
    if only > low * APART and abs(log(only / high)) < abs(log(only / low)):
        quick[with_one] = ()
        means[with_one] = low


def _below(
    mine: tuple[RecordedStep, ...], other: tuple[RecordedStep, ...], confidence: float
) -> tuple[RecordedStep, ...]:
    """The steps without those that are longer than steps of the other side ever are, if these are the fewer."""
    if len(other) < _SPREAD:
        return mine
    least = max(_limit(other, len(mine), confidence), APART * float(np.mean([one.ns for one in other])))
    kept = tuple(one for one in mine if one.ns <= least)
    below = [one.ns for one in kept]
    long = [one.ns for one in mine if one.ns > least]
    if not below or not long or min(long) < APART * max(below):
        kept = mine
    usual_ones = tuple(
        one for one in kept
        if not (
            stands_out(one, other, len(mine), confidence)
            and stands_out(one, [rest for rest in kept if rest is not one], len(mine), confidence)
        )
    )  # fmt: skip
    return usual_ones if 2 * len(usual_ones) > len(mine) else kept


def stands_out(one: RecordedStep, others: Sequence[RecordedStep], of: int, confidence: float) -> bool:
    """Whether a step is longer than others, by a part that takes longer than it does in so many steps like them.

    A part mostly varies less than the whole step does; it is taken to vary by `_LEAST_SPREAD` of a step at least. All
    parts of all these steps are looked at, which takes as many times the certainty (Bonferroni).
    """
    if len(others) < _SPREAD or not one.parts:
        return False
    mean = float(np.mean([other.ns for other in others]))
    if one.ns < APART * mean:
        return False
    devices = max(1.0, sum(one.parts.values()) / one.ns)
    chance = 1 - (1 - confidence) / 2 / (max(1, of) * len(one.parts))
    far = quantile(chance, len(others) - 1) * sqrt(1 + 1 / len(others))
    for part, length in one.parts.items():
        usually = np.array([other.parts.get(part, 0) for other in others], np.float64)
        spread = max(float(usually.std(ddof=1)), _LEAST_SPREAD * mean * devices)
        if length - float(usually.mean()) > max(far * spread, (APART - 1) * mean * devices):
            return True
    return False


def _limit(steps: Sequence[RecordedStep], others: int, confidence: float, below: bool = False) -> float:
    """The length that none of so many other steps of the same kind exceeds (or falls below), with this confidence."""
    sign = -1 if below else 1
    times = np.asarray([one.ns for one in steps], np.float64)
    chance = 1 - (1 - confidence) / 2 / max(1, others)
    if times.size < _SPREAD:
        return float(times.mean()) * (1 + sign * NormalDist().inv_cdf(chance) * ASSUMED_SPREAD)
    return float(times.mean() + sign * quantile(chance, times.size - 1) * times.std(ddof=1) * sqrt(1 + 1 / times.size))


def _ends_slow(steps: Sequence[RecordedStep], mean: float) -> bool:
    complete = [one for one in steps if one.complete]
    return bool(complete) and complete[-1].role == "edge" and complete[-1].ns > SLOW * mean


def _starting(steps: Sequence[RecordedStep], mean: float) -> list[RecordedStep]:
    """The slow steps before the first usual one."""
    complete = [one for one in steps if one.complete]
    found: list[RecordedStep] = []
    for one in complete:
        if one.role not in ("warm-up", "edge") or one.ns <= SLOW * mean or one is complete[-1]:
            break
        found.append(one)
    return found


def _slow(
    steps: Sequence[RecordedStep], quick: Sequence[RecordedStep], mean: float, leave_last: bool, started: int | None
) -> SlowSteps:
    """The slow steps of a side, of which at most the first so many are its start."""
    complete = [one for one in steps if one.complete]
    starting = _starting(steps, mean)[:started]
    later = complete[len(starting) : len(complete) - leave_last]
    kept = set(quick)
    least = {one: APART if one.role == "typical" else SLOW for one in later}
    slow = tuple(one for one in later if one not in kept and one.ns > least[one] * mean)
    where: Counter[str] = Counter()
    for one in slow:
        where[one.at] += one.ns - round(mean)
    at = where.most_common(1)[0][0] if where else ""
    positions = [i for i, one in enumerate(later) if one in slow]
    apart = set(np.diff(positions).tolist())
    return SlowSteps(
        slow, len(later), round(mean), sum(one.ns - round(mean) for one in slow), at,
        apart.pop() if len(apart) == 1 else 0, any(one.role == "typical" for one in slow), tuple(starting),
    )  # fmt: skip


def _sure(base: SlowSteps, new: SlowSteps, quick: Sequence[Sequence[RecordedStep]], confidence: float) -> bool:
    if not base.count and not new.count:
        return False
    for i, (all_slow, some) in enumerate(((base, new), (new, base))):
        if not quick[i] and quick[1 - i]:  # all steps of a side are of the slow kind: the other's are shorter than any
            return max(one.ns for one in quick[1 - i]) < _limit(all_slow.steps, some.of, confidence, below=True)
    if base.count and new.count:
        # Two questions, of which neither may be answered by chance.
        each = 1 - (1 - confidence) / 2
        share = chance_of_share((base.count, base.of), (new.count, new.of)) < 1 - each
        lengths = [np.asarray([one.ns for one in side.steps], np.float64) for side in (base, new)]
        longer = min(base.count, new.count) > 1 and shift(lengths[0], lengths[1], each, 0.0).sure
        # A single one of the base that is gone proves nothing, whatever else is slow now.
        elsewhere = base.at != new.at and bool(base.at and new.at)
        return share or longer or (elsewhere and (base.count > 1 or new.lost_ns > base.lost_ns))
    if base.count == 1:
        return False
    having = new if new.count else base
    # Where sides differ in what their usual steps are made of, each step of one stands out among those of the other.
    if all(stands_out(one, some, having.of, confidence) for one in having.steps for some in quick):
        return True
    # How much usual steps vary is asked of both sides together, whatever the typical step does.
    means = [sum(one.ns for one in steps) / len(steps) for steps in quick]
    alike = [replace(one, ns=round(one.ns * having.usual_ns / mean)) for steps, mean in zip(quick, means, strict=True)
             for one in steps]  # fmt: skip
    return min(one.ns for one in having.steps) > _limit(alike, having.of, confidence)
