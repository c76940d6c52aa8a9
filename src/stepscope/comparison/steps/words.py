"""Slow steps in words."""

from __future__ import annotations

from stepscope.comparison.steps.slow import SlowShift, SlowSteps
from stepscope.model.amounts import duration

#: Parts of a step as they are read; causes of idleness are without `idle.`.
_PARTS = {"exposed_communication": "exposed communication", "exposed_copy": "copies"}


def part_words(part: str) -> str:
    """`idle.data_wait` as `data wait`."""
    return _PARTS.get(part, part.removeprefix("idle.").replace("_", " "))


def slow_words(slow: SlowShift) -> str:
    """`1 of 6 steps takes 150 ms longer, in data wait, none of 6 before`; one of the sides has slow steps."""
    if slow.base.count and slow.new.count:
        return f"{_said(slow.new)}; {_said(slow.base, 'steps')} before"
    if slow.new.count:
        return f"{_said(slow.new)}, none of {slow.base.of} before"
    return f"{_said(slow.base)} before, none of {slow.new.of} now"


def _said(side: SlowSteps, what: str = "steps") -> str:
    each = duration(side.excess_ns / side.count)
    verb = "takes" if side.count == 1 else "take"
    at = f", in {part_words(side.at)}" if side.at else ""
    every = f", every {_ordinal(side.period)} one" if side.period > 1 else ""
    return f"{side.count} of {side.of} {what} {verb} {each} longer{at}{every}"


def _ordinal(number: int) -> str:
    ending = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"
