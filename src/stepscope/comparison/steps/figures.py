"""The steps of both sides in figures: the typical one, all of them, and what slow ones cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import ceil, sqrt
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stepscope.comparison.noise.ratio import ASSUMED_SPREAD, leaves_open, ratio_interval
from stepscope.comparison.noise.shift import half_width
from stepscope.comparison.steps.recorded import RecordedStep
from stepscope.comparison.steps.slow import SlowShift, SlowSteps
from stepscope.language import said
from stepscope.model.schema import Column, TableSchema, flag, text
from stepscope.model.table import Table

#: The share of steps that the long ones are beyond.
_LONG: Final = 0.95
#: Standard deviation of a sample's 95th percentile over that of its mean, of normal values: sqrt(0.95 x 0.05) / 0.1031.
_OF_LONG: Final = 2.11

STEP_FIGURES: Final = TableSchema(
    "step_figures",
    "How the steps went: the typical step, all complete ones, and what slow ones cost each step on average.",
    (
        text("figure", "typical_step, mean_step, p95_step and longest_step (of all complete steps), throughput, stalls "
             "(time that slow steps take beyond usual ones, per step), usual_step and slow_step (where steps are of "
             "two kinds), starting_steps (what warm-up takes beyond usual steps, in all)."),
        text("unit", "ns, or what throughput counts, per second."),
        Column("base", "float64", "The base's.", "", True),
        Column("new", "float64", "The new side's.", "", True),
        Column("diff", "float64", "new - base.", "", True),
        Column("low", "float64", "Lower end of the interval of diff; null where there is none.", "", True),
        Column("high", "float64", "Upper end; null where it is open, or low is null.", "", True),
        text("base_steps", "Which steps of the base it is about.", nullable=True),
        text("new_steps", "The same of the new side.", nullable=True),
    ),
)  # fmt: skip
LEFT_OUT: Final = TableSchema(
    "steps_left_out",
    "Recorded steps that are not typical, and slow ones among the typical.",
    (
        text("side", "base or new."),
        Column("step", "int32", "The step.", ""),
        Column("ns", "int64", "Its length.", "ns"),
        text("role", "As in `steps`."),
        text("reason", "Why it is not typical; null if it is.", nullable=True),
        text("at", "Part of the step that makes it longer than usual; null where it is not, or that is not known.",
             nullable=True),
        flag("slow", "Whether it counts as a stall, or as one of the slower kind."),
    ),
)  # fmt: skip


class ItemsBeside(NamedTuple):
    """What a step of either side reads.

    Attributes:
        base: Items of the base.
        new: Items of the new side.
        unit: What is counted: images, tokens.
    """

    base: float
    new: float
    unit: str


@dataclass(frozen=True, slots=True)
class StepFigure:
    """A figure about the steps of both sides.

    Attributes:
        name: As in table `step_figures`.
        unit: ns, or items and such per second.
        base: The base's; None where it has no such steps.
        new: The new side's.
        low: Lower end of the interval of the difference; None where there is none.
        high: Upper end; None where it is open, or there is no interval.
        method: What the interval rests on.
        steps: Which steps of either side it is about; empty where it is about all.
    """

    name: str
    unit: str
    base: float | None
    new: float | None
    low: float | None = None
    high: float | None = None
    method: str = ""
    steps: tuple[str, str] = ("", "")

    @property
    def diff(self) -> float | None:
        """New minus base."""
        return None if self.base is None or self.new is None else self.new - self.base


@dataclass(frozen=True, slots=True)
class StepsBeside:
    """The steps of both sides.

    Attributes:
        base: All recorded ones of the base.
        new: The same of the new side.
        slow: Which of them are slow.
        figures: What is said of them.
    """

    base: tuple[RecordedStep, ...] = ()
    new: tuple[RecordedStep, ...] = ()
    slow: SlowShift = field(default_factory=SlowShift)
    figures: tuple[StepFigure, ...] = ()

    def figure(self, name: str) -> StepFigure | None:
        """One of the figures; None where it is not known."""
        return next((one for one in self.figures if one.name == name), None)

    def tables(self) -> dict[str, Table]:
        """Both tables; none where no steps are known."""
        if not self.figures:
            return {}
        figures = [
            (
                one.name,
                one.unit,
                one.base,
                one.new,
                one.diff,
                one.low,
                one.high,
                *(words or None for words in one.steps),
            )
            for one in self.figures
        ]
        left = [
            (side, one.step, one.ns, one.role, one.reason or None, one.at or None, one in slow.steps)
            for side, steps, slow in (("base", self.base, self.slow.base), ("new", self.new, self.slow.new))
            for one in steps
            if one.role != "typical" or one in slow.steps
        ]
        return {
            STEP_FIGURES.name: Table.from_rows(STEP_FIGURES, figures),
            LEFT_OUT.name: Table.from_rows(LEFT_OUT, left),
        }

    def to_json(self) -> dict[str, Any]:
        """As JSON values: of each side how many steps are complete, typical and slow."""
        return {
            name: {
                "recorded": len(steps),
                "complete": sum(one.complete for one in steps),
                "typical": sum(one.role == "typical" for one in steps),
                "slow": [one.step for one in slow.steps],
                "lost_ns": slow.lost_ns,
                "at": slow.at or None,
                "period": slow.period or None,
                "starting": [one.step for one in slow.starting],
            }
            for name, steps, slow in (("base", self.base, self.slow.base), ("new", self.new, self.slow.new))
        } | {"slow_differ": self.slow.sure}  # fmt: skip


def steps_beside(
    base: Sequence[RecordedStep],
    new: Sequence[RecordedStep],
    slow: SlowShift,
    confidence: float,
    items: ItemsBeside | None = None,
) -> StepsBeside:
    """The figures of both sides' steps.

    Args:
        base: Recorded steps of the base.
        new: The same of the new side.
        slow: Which of them are slow.
        confidence: Chance that an interval holds the true difference.
        items: What a step of each side reads; None where that is unknown.
    """
    typical = [np.asarray([one.ns for one in side if one.role == "typical"], np.float64) for side in (base, new)]
    complete = [np.asarray([one.ns for one in side if one.complete], np.float64) for side in (base, new)]
    if not all(one.any() for one in (*typical, *complete)):
        return StepsBeside(tuple(base), tuple(new), slow)
    means = [float(one.mean()) for one in complete]
    figures = [_with_interval("typical_step", typical, confidence)]
    every = _with_interval("mean_step", complete, confidence)
    figures.append(_surely_slower(every, figures[0], slow))
    figures.append(_long(complete, slow, confidence))
    figures.append(StepFigure("longest_step", "ns", float(complete[0].max()), float(complete[1].max())))
    figures.append(_throughput(figures[1], means, items))
    figures.append(_stalls(slow))
    if slow.base.recurring or slow.new.recurring:
        figures += _kinds(slow)
    if slow.base.starting or slow.new.starting:
        first, second = (float(sum(one.ns - side.usual_ns for one in side.starting)) for side in (slow.base, slow.new))
        words = (_listed(slow.base.starting), _listed(slow.new.starting))
        figures.append(StepFigure("starting_steps", "ns", first, second, steps=words))
    return StepsBeside(tuple(base), tuple(new), slow, tuple(figures))


def _with_interval(name: str, sides: Sequence[NDArray[np.float64]], confidence: float) -> StepFigure:
    first, second = sides
    ratio = ratio_interval([*map(round, first.tolist())], [*map(round, second.tolist())], confidence)
    base = float(first.mean())
    high = None if ratio.most is None else (ratio.most - 1) * base
    return StepFigure(name, "ns", base, float(second.mean()), (ratio.low - 1) * base, high, ratio.method)


def _surely_slower(every: StepFigure, typical: StepFigure, slow: SlowShift) -> StepFigure:
    """The mean of all steps, of which a sure difference of stalls is a sure part."""
    if not slow.sure or typical.low is None or typical.high is None or every.low is None:
        return every
    low, high = typical.low + slow.diff_ns, typical.high + slow.diff_ns
    if every.high is not None and high - low > every.high - every.low:
        return every
    return StepFigure(
        every.name, "ns", every.base, every.new, min(low, every.diff or 0.0), max(high, every.diff or 0.0), "stalls"
    )


def _long(complete: Sequence[NDArray[np.float64]], slow: SlowShift, confidence: float) -> StepFigure:
    """The 95th percentile (nearest rank) of all steps; its interval rests on the spread of the usual ones."""
    at = [float(np.sort(one)[ceil(_LONG * one.size) - 1]) for one in complete]
    usual = [
        one[one <= (side.usual_ns or np.inf) * (1 + _OF_LONG * ASSUMED_SPREAD)]
        for one, side in zip(complete, (slow.base, slow.new), strict=True)
    ]
    kept = [some if some.size else one for some, one in zip(usual, complete, strict=True)]
    half, _ = half_width(kept[0], kept[1], confidence, ASSUMED_SPREAD * max(at) / sqrt(2))
    half *= _OF_LONG
    low = max(at[1] - at[0] - half, -at[0])  # no step is shorter than nothing
    return StepFigure("p95_step", "ns", at[0], at[1], low, _closed(at[0], at[1], at[1] - at[0] + half), "spread")


def _closed(base: float, new: float, high: float) -> float | None:
    """The upper end of the interval of a difference; None, as of a ratio, where it says nothing any more."""
    return None if leaves_open(base + high, base, new) else high


def _throughput(every: StepFigure, means: Sequence[float], items: ItemsBeside | None) -> StepFigure:
    """Steps or items per second, over all complete steps; its interval is that of their mean."""
    first, second, unit = items or ItemsBeside(1.0, 1.0, "steps")
    base, new = first * 1e9 / means[0], second * 1e9 / means[1]
    low = high = None
    if every.low is not None:
        low = -base if every.high is None else second * 1e9 / max(means[0] + every.high, 1.0) - base
        high = _closed(base, new, second * 1e9 / max(means[0] + every.low, 1.0) - base)
    return StepFigure("throughput", f"{unit}/s", base, new, low, high, every.method)


def _stalls(slow: SlowShift) -> StepFigure:
    apart = float(slow.diff_ns)
    sure = slow.sure or not (slow.base.count or slow.new.count)
    low, high = (apart, apart) if sure else (min(apart, 0.0), max(apart, 0.0))
    words = (_listed(slow.base.steps), _listed(slow.new.steps))
    return StepFigure("stalls", "ns", float(slow.base.lost_ns), float(slow.new.lost_ns), low, high, "stalls", words)


def _kinds(slow: SlowShift) -> list[StepFigure]:
    """The usual and the slow kind of steps."""
    base, new = slow.base, slow.new
    quick, late = ([float(side.usual_ns) if side.count < side.of else None for side in (base, new)],
                   [float(side.mean_ns) if side.count else None for side in (base, new)])  # fmt: skip
    return [
        StepFigure("usual_step", "ns", quick[0], quick[1], steps=(_share(base, False), _share(new, False))),
        StepFigure("slow_step", "ns", late[0], late[1], steps=(_share(base, True), _share(new, True))),
    ]


def _share(side: SlowSteps, slow: bool) -> str:
    return said("{count} of {of}", count=side.count if slow else side.of - side.count, of=side.of)


def _listed(steps: Sequence[RecordedStep]) -> str:
    first, left = ", ".join(str(one.step) for one in steps[:6]), len(steps) - 6
    return said("{numbers} and {left} more", numbers=first, left=left) if left > 0 else first
