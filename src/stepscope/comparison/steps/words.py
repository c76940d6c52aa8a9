"""Slow steps in words."""

from __future__ import annotations

from stepscope.comparison.steps.slow import SlowShift, SlowSteps
from stepscope.language import counted, said
from stepscope.language.part_words import in_words
from stepscope.model.amounts import duration


def part_words(part: str) -> str:
    """`idle.data_wait` as `data wait`."""
    return said("copies") if part == "exposed_copy" else in_words(part.removeprefix("idle."))


def slow_words(slow: SlowShift) -> str:
    """`1 of 6 steps takes 150 ms longer, in data wait, none of 6 before`; one of the sides has slow steps."""
    if slow.base.count and slow.new.count:
        now, then = _said(slow.new), _said(slow.base)
        return said("{now}, as before", now=now) if now == then else said("{now}; {then} before", now=now, then=then)
    if slow.new.count:
        return said("{now}, none of {of} before", now=_said(slow.new), of=slow.base.of)
    return said("{then} before, none of {of} now", then=_said(slow.base), of=slow.new.of)


def _said(side: SlowSteps) -> str:
    longer = counted(
        "{count} of {of} steps takes {each} longer", "{count} of {of} steps take {each} longer",
        count=side.count, of=side.of, each=duration(side.excess_ns / side.count),
    )  # fmt: skip
    text: str = said("{longer}, in {part}", longer=longer, part=part_words(side.at)) if side.at else longer
    if side.period > 1:
        th = _ending(side.period)
        text = said("{longer}, every {period}{en_th} one", longer=text, period=side.period, en_th=th)
    return text


def _ending(number: int) -> str:
    """What makes a number an ordinal."""
    return "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
