"""What is said of a trial while it goes on, and what became of a combination: phrases."""

from __future__ import annotations

from collections.abc import Sequence

from stepscope.language import listing, said
from stepscope.model.amounts import duration, plural
from stepscope.trying.reasons import verdict_word
from stepscope.trying.remedy import OutsideRemedy
from stepscope.trying.runs import RunResult
from stepscope.trying.verdicts import MeasuredSaving


def to_try(remedies: Sequence[OutsideRemedy]) -> str:
    """Which remedies are tried."""
    names = listing(one.name for one in remedies) or said("none")
    return said("{remedies} to try: {names}", remedies=plural(len(remedies), "remedy", "remedies"), names=names)


def step_of(run: RunResult) -> str:
    """How long the steps of a run were."""
    step = duration(round(run.step_ns))
    return said("step {step}, mean of {steps} ({seconds:.0f} s)", step=step, steps=run.steps, seconds=run.seconds)


def pair_of(remedies: Sequence[OutsideRemedy], number: int, left_s: float) -> str:
    """Which pair of runs starts.

    Args:
        remedies: Applied in one of the two.
        number: Of the pair, from 1 on.
        left_s: Seconds that the trial still has.
    """
    names = " + ".join(one.name for one in remedies)
    return said("{names}, pair {number} ({left:.0f} min left)", names=names, number=number, left=left_s / 60)


def not_held(names: str, found: MeasuredSaving) -> str:
    """Remedies that help alone and not together."""
    verdict = verdict_word(found.verdict)
    return said("together, {names} did not hold ({verdict}: {why})", names=names, verdict=verdict, why=found.why)
