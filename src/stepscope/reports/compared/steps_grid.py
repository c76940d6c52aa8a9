"""How the steps of both sides went: the typical one, all of them, and those that take far longer, side by side."""

from __future__ import annotations

from typing import Final

from stepscope.comparison.metrics import metric_words
from stepscope.comparison.result import Comparison
from stepscope.comparison.steps.figures import StepFigure
from stepscope.comparison.steps.recorded import RecordedStep
from stepscope.comparison.steps.words import part_words
from stepscope.language import listing, said
from stepscope.language.part_words import in_words
from stepscope.model.amounts import NONE, between, duration, percent
from stepscope.reports.blocks import Block, Grid, Heading, Line
from stepscope.reports.compared.cells import signed

_NAMES: Final = {
    "typical_step": said("typical step"),
    "mean_step": said("all steps, mean"),
    "p95_step": said("all steps, 95th percentile"),
    "longest_step": said("the longest"),
    "throughput": said("throughput"),
    "stalls": said("slow steps cost each"),
    "usual_step": said("steps of the usual kind"),
    "slow_step": said("steps of the slow kind"),
    "starting_steps": said("the start takes"),
}
#: Steps left out that are named, at most.
_NAMED: Final = 8


def steps_grid(comparison: Comparison) -> tuple[Block, ...]:
    """The figures of both sides' steps, and the steps that are left out, with their lengths."""
    steps = comparison.step_time.steps
    if not steps.figures:
        return ()
    headings = (
        Heading(said("steps"), number=False), Heading(said("base")), Heading(said("new")), Heading(said("growth")),
        Heading(said("interval"), rank=1), Heading(said("which, base"), number=False, rank=3),
        Heading(said("which, new"), number=False, rank=2),
    )  # fmt: skip
    rows = tuple(_row(one) for one in steps.figures)
    sides = ((said("base"), steps.base, steps.slow.base.steps), (said("new"), steps.new, steps.slow.new.steps))
    left = [line for name, every, slow in sides if (line := _left_out(name, every, slow))]
    overlapping = [line for name, every, _ in sides if (line := _without_time(name, every))]
    return (Grid(headings, rows, table="step_figures", whole=True), *left, *overlapping)


def _row(one: StepFigure) -> tuple[str, ...]:
    words = [NONE if value is None else metric_words(value, one.unit) for value in (one.base, one.new)]
    growth = interval = ""
    if one.base and one.diff is not None:
        growth = signed(percent(one.diff / one.base))
        # What is only counted, as slow steps are, has no interval around it.
        if one.low is not None and (one.high is None or one.low < one.high):
            high = NONE if one.high is None else signed(percent(one.high / one.base))
            interval = between(signed(percent(one.low / one.base)), high)
    return (_NAMES[one.name], *words, growth, interval, *one.steps)


def _left_out(side: str, every: tuple[RecordedStep, ...], slow: tuple[RecordedStep, ...]) -> Line | None:
    """The steps of a side that are not typical: `new: step 5 182 ms (warm-up, host dispatch)`."""
    left = [one for one in every if one.role != "typical" or one in slow]
    if not left:
        return None
    steps = listing((_left_step(one) for one in left[:_NAMED]), "; ")
    if len(left) > _NAMED:
        steps = said("{steps} and {left} more", steps=steps, left=len(left) - _NAMED)
    return Line(said("{side}, not among the usual steps: {steps}", side=side, steps=steps), tone="info")


def _without_time(side: str, every: tuple[RecordedStep, ...]) -> Line | None:
    """The requests of a side that others overlap so that no time is theirs alone, all of which count as steps."""
    none = sum(one.role == "typical" and not one.ns for one in every)
    if not none:
        return None
    of = sum(one.role == "typical" for one in every)
    text = said(
        "{side}: {none} of {of} requests have no time of the device to themselves; they count as steps of 0 ns",
        side=side, none=none, of=of,
    )  # fmt: skip
    return Line(text, tone="info")


def _left_step(one: RecordedStep) -> str:
    values = {"step": one.step, "time": duration(one.ns), "role": in_words(one.role)}
    if one.at:
        return said("step {step} {time} ({role}, in {part})", **values, part=part_words(one.at))
    return said("step {step} {time} ({role})", **values)
