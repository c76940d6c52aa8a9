"""What is said of a remedy: from step times of alternating runs, and from the numbers of both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from statistics import NormalDist, fmean

import numpy as np
from numpy.typing import NDArray

from stepscope.comparison.noise.ratio import ASSUMED_SPREAD, CONFIDENCE
from stepscope.comparison.noise.student import quantile
from stepscope.language import listing, said
from stepscope.trying.failures import CUT
from stepscope.trying.numbers import NumbersVerdict, compared
from stepscope.trying.reasons import LEAST, Verdict, verdict_of
from stepscope.trying.remedy import OutsideRemedy
from stepscope.trying.runs import RunResult


@dataclass(frozen=True, slots=True)
class MeasuredSaving:
    """A remedy, or several together, held against the unchanged program; ns saved per step.

    Attributes:
        saved_ns: Mean of the unchanged program less that with the remedy; None if that did not run.
        low_ns: Lower end of its interval.
        high_ns: Upper end.
        base_ns: Mean step of the unchanged runs that it was alternated with.
        step_ns: Mean step with it.
        verdict: What is said of it.
        why: Why, a sentence without a full stop.
        numbers: What became of the numbers.
        runs: Pairs of runs.
    """

    saved_ns: int | None
    low_ns: int | None
    high_ns: int | None
    base_ns: int | None
    step_ns: int | None
    verdict: Verdict
    why: str
    numbers: NumbersVerdict | None = None
    runs: int = 0

    @property
    def undecided(self) -> bool:
        """Whether more runs may show a gain that these do not show for sure."""
        if self.saved_ns is None or self.low_ns is None or self.high_ns is None or not self.base_ns:
            return False
        return self.verdict == "no gain" and self.low_ns <= 0 and self.high_ns >= LEAST * self.base_ns


def measured(
    base: Sequence[RunResult],
    new: Sequence[RunResult],
    remedies: Sequence[OutsideRemedy],
    unchanged: Sequence[RunResult] = (),
) -> MeasuredSaving:
    """Hold runs with remedies against runs of the unchanged program that they were alternated with.

    The difference of the mean steps of two runs that took turns is one measurement, since what a run has more than
    another all of its steps have; the interval is Student's of their mean, with 99 % confidence.

    Args:
        base: Runs of the unchanged program.
        new: Runs with the remedies.
        remedies: The remedies.
        unchanged: Further runs of the unchanged program, which tell by how much its numbers differ anyway.
    """
    failed = [one for one in new if one.why and one.why != CUT]
    beside = [one.why for one in base if one.why and one.why != CUT]
    good = [one for one in new if not one.why]
    base = [one for one in base if not one.why]
    if failed:
        return MeasuredSaving(None, None, None, int(_mean(base)) if base else None, None, "failed", failed[0].why)
    if beside and not (base and good):
        lost = said("the unchanged program did not run beside it: {why}", why=beside[0])
        return MeasuredSaving(None, None, None, None, None, "failed", lost)
    if not base or not good:
        # What was cut by the end of the time shows nothing of either side.
        beside_ns = int(_mean(base)) if base else None
        return MeasuredSaving(None, None, None, beside_ns, None, "failed", said("it was not run: the time was over"))
    lacking = [one.name for one in remedies if any(one.name not in run.applied for run in good)]
    if lacking:
        names = listing(lacking, " and ")
        none = said("nothing in the program was found to apply {names} to", names=names)
        return MeasuredSaving(None, None, None, int(_mean(base)), None, "failed", none)
    if {one.source for one in good} != {one.source for one in base}:
        return MeasuredSaving(
            None, None, None, int(_mean(base)), None, "failed", said("its steps are found in another way")
        )
    partners = {one.pair: one for one in base}
    pairs = [(partners[one.pair].step_ns, one.step_ns) for one in good if one.pair in partners]
    if not pairs:
        pairs = [(base[0].step_ns, good[0].step_ns)]
    before, after = (np.array(side, np.float64) for side in zip(*pairs, strict=True))
    middle = float((before - after).mean())
    half = _half_width(before - after, ASSUMED_SPREAD * float(before.mean()))
    # No remedy saves more than the step.
    low, high = middle - half, max(middle, min(middle + half, float(before.mean())))
    numbers = compared([*base, *unchanged], good, [one.numbers for one in remedies])
    verdict, why = verdict_of(middle, low, high, float(before.mean()), numbers, remedies, len(pairs))
    return MeasuredSaving(
        round(middle), round(low), round(high), round(float(before.mean())),
        round(float(after.mean())), verdict, why, numbers, len(pairs),
    )  # fmt: skip


def _half_width(apart: NDArray[np.float64], assumed: float) -> float:
    """Half of the interval of the mean of differences; of one, whose spread is taken for granted."""
    chance = (1 + CONFIDENCE) / 2
    if apart.size < 2:
        return NormalDist().inv_cdf(chance) * assumed * sqrt(2)
    return quantile(chance, apart.size - 1) * float(apart.std(ddof=1)) / sqrt(apart.size)


def _mean(runs: Sequence[RunResult]) -> float:
    return fmean(one.step_ns for one in runs)
