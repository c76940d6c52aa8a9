"""Metrics of both sides with the interval of their difference: what `--fail-on` may name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from math import inf, isfinite
from typing import Any, Final, Literal

import numpy as np

from stepscope.comparison.comparable import CALLS
from stepscope.comparison.model_shape import UNKNOWN
from stepscope.comparison.noise.ratio import ASSUMED_SPREAD, RatioInterval, leaves_open
from stepscope.comparison.noise.shift import Method, shift
from stepscope.comparison.series import BYTES
from stepscope.comparison.steps.figures import StepFigure, StepsBeside
from stepscope.comparison.summary import SideSummary
from stepscope.model.amounts import NONE, between, percent, quantity

#: Figures about all steps that are metrics, too; of them throughput is better the higher it is.
OF_STEPS: Final = ("mean_step", "p95_step", "throughput", "stalls")


@dataclass(frozen=True, slots=True)
class MetricShift:
    """A metric of both sides.

    Attributes:
        name: step_time, compute, exposed_comm, exposed_copy, idle, idle.CAUSE, mean_step, p95_step, throughput,
            stalls, peak_memory or peak_reserved.
        unit: ns, bytes, or what throughput counts per second.
        base: Mean of the base's typical steps; of memory the peak.
        new: The same of the new side.
        diff: New minus base.
        low: Lower end of its interval.
        high: Upper end; infinite where it is open.
        method: What the interval rests on, see `ShiftInterval`; a peak of memory is exact. `untold`: a side lacks the
            calls that idle time is put down to, so that its causes do not compare; both ends are open.
    """

    name: str
    unit: str
    base: float
    new: float
    diff: float
    low: float
    high: float
    method: Method | Literal["exact", "stalls", "untold"]

    def to_json(self) -> dict[str, Any]:
        """As JSON values; an open end is null."""
        ends = {name: end if isfinite(end) else None for name, end in (("low", self.low), ("high", self.high))}
        return {**asdict(self), **ends}


def metric_words(value: float, unit: str) -> str:
    """A metric as it is read: `178 ms`, `180 images/s`."""
    if unit in ("ns", "bytes"):
        return quantity(value, unit)
    return f"{value:,.4g} {unit}" if abs(value) < 1000 else f"{value:,.0f} {unit}"


def growth_interval(one: MetricShift, base: float) -> str:
    """The interval of its growth as a share of the base, which is more than 0: nothing falls by more than all of it."""
    low, high = max(one.low / base, -1.0), one.high / base
    is_open = leaves_open(one.base + one.high, one.base, one.new, base)
    return between(percent(low), NONE if is_open else percent(high))


def metric_shifts(
    base: SideSummary, new: SideSummary, ratio: RatioInterval | None, confidence: float, steps: StepsBeside
) -> tuple[MetricShift, ...]:
    """All metrics that both sides have, or one has as far as that says that the other has none of it.

    Args:
        base: One side.
        new: The other.
        ratio: That of the step times; None where they do not compare, and then no time does.
        confidence: Chance that an interval holds the true difference.
        steps: All recorded steps of both sides.
    """
    found: list[MetricShift] = []
    # Baselines of earlier versions do not say whether they have the calls.
    told = [side.recorded.get(CALLS, UNKNOWN) for side in (base, new)]
    untold = told[0] != told[1] and UNKNOWN not in told
    for name in dict.fromkeys((*base.series, *new.series)):
        if name in BYTES:
            if name in base.series and name in new.series:
                first, second = max(base.series[name]), max(new.series[name])
                apart = second - first
                found.append(MetricShift(name, "bytes", first, second, apart, apart, apart, "exact"))
        elif ratio is not None:
            timed = _timed(name, base, new, ratio, confidence)
            if untold and name.startswith("idle."):
                timed = [replace(one, low=-inf, high=inf, method="untold") for one in timed]
            found += timed
    return (*found, *(_of_figure(figure) for figure in steps.figures if figure.name in OF_STEPS))


def _of_figure(one: StepFigure) -> MetricShift:
    first, second = one.base or 0.0, one.new or 0.0
    low, high = (second - first if end is None else end for end in (one.low, one.high))
    if one.low is not None and one.high is None:
        high = inf
    method: Any = one.method
    if one.unit == "ns":
        return MetricShift(one.name, "ns", round(first), round(second), round(second - first), low, high, method)
    return MetricShift(one.name, one.unit, first, second, second - first, low, high, method)


def _timed(
    name: str, base: SideSummary, new: SideSummary, ratio: RatioInterval, confidence: float
) -> list[MetricShift]:
    first, second = (_values(name, side) for side in (base, new))
    if not first or not second:
        return []
    base_mean, new_mean = (sum(values) // len(values) for values in (first, second))
    apart = new_mean - base_mean
    if name == "step_time":
        low, high = (base_mean * (end - ratio.ratio) + apart for end in (ratio.low, ratio.high))
        return [MetricShift(name, "ns", base_mean, new_mean, apart, low, high, ratio.method)]
    spread = ASSUMED_SPREAD * max(base_mean, new_mean)
    one = shift(np.asarray(first, np.float64), np.asarray(second, np.float64), confidence, spread)
    return [MetricShift(name, "ns", base_mean, new_mean, apart, one.low, one.high, one.method)]


def _values(name: str, side: SideSummary) -> Sequence[int]:
    """A side's values; a cause of idleness that it never has is 0 in every step."""
    if name in side.series:
        return side.series[name]
    return (0,) * len(side.lengths) if name.startswith("idle.") and "idle" in side.series else ()
