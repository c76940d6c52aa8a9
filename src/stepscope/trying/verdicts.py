"""What is said of a remedy: from step times of alternating runs, and from the numbers of both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from statistics import NormalDist, fmean
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from stepscope.comparison.noise.ratio import ASSUMED_SPREAD, CONFIDENCE
from stepscope.comparison.noise.student import quantile
from stepscope.language import Said, listing, pattern, said
from stepscope.model.amounts import percent, plural
from stepscope.trying.failures import CUT
from stepscope.trying.numbers import NumbersVerdict, compared
from stepscope.trying.remedy import OutsideRemedy
from stepscope.trying.runs import RunResult

Verdict = Literal["helps", "no gain", "slower", "failed", "changes numbers"]

_WORDS: Final = {
    "helps": said("helps"), "no gain": said("no gain"), "slower": said("slower"), "failed": said("failed"),
    "changes numbers": said("changes numbers"),
}  # fmt: skip

#: Differences below this share of the step are none, however sure they seem: runs of one program differ by as much.
LEAST: Final = 0.02
#: Pairs of runs from which something is sure: of two, how far they are apart tells next to nothing of the spread.
_FEWEST_RUNS: Final = 3


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
    if not base or (beside and not good):
        lost = said("the unchanged program did not run beside it")
        if beside:
            lost = said("the unchanged program did not run beside it: {why}", why=beside[0])
        return MeasuredSaving(None, None, None, None, None, "failed", lost)
    if not good:
        return MeasuredSaving(
            None, None, None, int(_mean(base)), None, "failed", said("it was not run: the time was over")
        )
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
    verdict, why = _verdict(middle, low, high, float(before.mean()), numbers, remedies, len(pairs))
    return MeasuredSaving(
        round(middle), round(low), round(high), round(float(before.mean())),
        round(float(after.mean())), verdict, why, numbers, len(pairs),
    )  # fmt: skip


def verdict_word(verdict: Verdict) -> Said:
    """A verdict in words that other languages have, too."""
    return _WORDS[verdict]


def _half_width(apart: NDArray[np.float64], assumed: float) -> float:
    """Half of the interval of the mean of differences; of one, whose spread is taken for granted."""
    chance = (1 + CONFIDENCE) / 2
    if apart.size < 2:
        return NormalDist().inv_cdf(chance) * assumed * sqrt(2)
    return quantile(chance, apart.size - 1) * float(apart.std(ddof=1)) / sqrt(apart.size)


def _verdict(
    middle: float,
    low: float,
    high: float,
    base: float,
    numbers: NumbersVerdict,
    remedies: Sequence[OutsideRemedy],
    runs: int,
) -> tuple[Verdict, str]:
    share, least, most = percent(abs(middle) / base), percent(low / base), percent(high / base)
    shown = pattern("saves {share} of the step (between {least} and {most})")
    if middle < 0:
        shown = pattern("takes {share} more (between {least} and {most})")
    saving = said(shown, share=share, least=least, most=most)
    exact = all(one.numbers == "exact" for one in remedies)
    if numbers.same is False:
        changes = listing(dict.fromkeys(said(one.changes) for one in remedies if one.changes != "nothing"), "; ")
        apart = _apart(numbers)
        if changes:
            apart = said("{apart}: {changes}", apart=apart, changes=changes)
        return "changes numbers", said("{apart}; it {saving}", apart=apart, saving=saving)
    if numbers.same is None and not exact:
        lack = said("no loss was seen")
        if numbers.noise:
            lack = said("runs of the unchanged program differ too much from each other")
        unsure = said("{lack}, so nothing shows that its numbers stay the same; it {saving}", lack=lack, saving=saving)
        return "changes numbers", unsure
    known = _kept(numbers) if numbers.same else said("it changes no arithmetic, and no loss was seen")
    sure = said("{saving}; {known}", saving=saving, known=known)
    if low > 0 and middle >= LEAST * base and runs >= _FEWEST_RUNS:
        return "helps", sure
    if high < 0 and middle <= -LEAST * base and runs >= _FEWEST_RUNS:
        return "slower", sure
    few = said(", after {pairs}", pairs=plural(runs, "pair")) if runs < _FEWEST_RUNS else ""
    return "no gain", said(
        "{saving}, which is no sure gain of {least} or more{few}; {known}",
        saving=saving, least=percent(LEAST), few=few, known=known,
    )  # fmt: skip


def _held(numbers: NumbersVerdict) -> tuple[tuple[str, float | None, float], ...]:
    return (
        (said("losses"), numbers.loss, numbers.loss_tolerance),
        (said("gradient norms"), numbers.norm, numbers.norm_tolerance),
        (said("results"), numbers.output, numbers.loss_tolerance),
    )  # fmt: skip


def _apart(numbers: NumbersVerdict) -> str:
    worst = [(name, apart, most) for name, apart, most in _held(numbers) if apart is not None and apart > most]
    return listing(
        (
            said(
                "{name} differ by {apart}, more than {most}", name=name, apart=percent(apart, 2), most=percent(most, 2)
            )
            for name, apart, most in worst
        ),
        " and ",
    )


def _kept(numbers: NumbersVerdict) -> str:
    known = [
        said("{name} within {most}", name=name, most=percent(most, 2))
        for name, apart, most in _held(numbers)
        if apart is not None
    ]
    return listing(known, " and ") or said("no numbers to compare")


def _mean(runs: Sequence[RunResult]) -> float:
    return fmean(one.step_ns for one in runs)
