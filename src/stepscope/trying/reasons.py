"""Verdicts on remedies, and why: from what they save, and from what became of the numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal

from stepscope.language import Said, listing, pattern, said
from stepscope.model.amounts import percent, plural
from stepscope.trying.numbers import NumbersVerdict
from stepscope.trying.remedy import OutsideRemedy

Verdict = Literal["helps", "no gain", "slower", "failed", "changes numbers"]

_WORDS: Final = {
    "helps": said("helps"), "no gain": said("no gain"), "slower": said("slower"), "failed": said("failed"),
    "changes numbers": said("changes numbers"),
}  # fmt: skip

#: Differences below this share of the step are none, however sure they seem: runs of one program differ by as much.
LEAST: Final = 0.02
#: Pairs of runs from which something is sure: of two, how far they are apart tells next to nothing of the spread.
_FEWEST_RUNS: Final = 3


def verdict_word(verdict: Verdict) -> Said:
    """A verdict in words that other languages have, too."""
    return _WORDS[verdict]


def verdict_of(
    middle: float,
    low: float,
    high: float,
    base: float,
    numbers: NumbersVerdict,
    remedies: Sequence[OutsideRemedy],
    runs: int,
) -> tuple[Verdict, str]:
    """The verdict on a remedy that ran, and why.

    Args:
        middle: What it saves per step, in ns.
        low: Lower end of its interval.
        high: Upper end.
        base: Mean step of the unchanged runs.
        numbers: What became of the numbers.
        remedies: The remedies.
        runs: Pairs of runs.
    """
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
