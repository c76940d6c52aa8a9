"""Metrics of both sides with the interval of their difference: what `--fail-on` may name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from stepscope.comparison.noise.ratio import ASSUMED_SPREAD, RatioInterval
from stepscope.comparison.noise.shift import Method, shift
from stepscope.comparison.series import BYTES
from stepscope.comparison.summary import SideSummary


@dataclass(frozen=True, slots=True)
class MetricShift:
    """A metric of both sides.

    Attributes:
        name: step_time, compute, exposed_comm, exposed_copy, idle, idle.CAUSE, peak_memory or peak_reserved.
        unit: ns or bytes.
        base: Median of the base's steps; of memory the peak.
        new: The same of the new side.
        diff: Estimated difference.
        low: Lower end of its interval.
        high: Upper end.
        method: What the interval rests on, see `ShiftInterval`; a peak of memory is exact.
    """

    name: str
    unit: Literal["ns", "bytes"]
    base: int
    new: int
    diff: float
    low: float
    high: float
    method: Method | Literal["exact"]


def metric_shifts(
    base: SideSummary, new: SideSummary, ratio: RatioInterval | None, confidence: float
) -> tuple[MetricShift, ...]:
    """All metrics that both sides have, or one has as far as that says that the other has none of it.

    Args:
        base: One side.
        new: The other.
        ratio: That of the step times; None where they do not compare, and then no time does.
        confidence: Chance that an interval holds the true difference.
    """
    found: list[MetricShift] = []
    for name in dict.fromkeys((*base.series, *new.series)):
        if name in BYTES:
            if name in base.series and name in new.series:
                first, second = max(base.series[name]), max(new.series[name])
                apart = second - first
                found.append(MetricShift(name, "bytes", first, second, apart, apart, apart, "exact"))
        elif ratio is not None:
            found += _timed(name, base, new, ratio, confidence)
    return tuple(found)


def _timed(
    name: str, base: SideSummary, new: SideSummary, ratio: RatioInterval, confidence: float
) -> list[MetricShift]:
    first, second = (_values(name, side) for side in (base, new))
    if not first or not second:
        return []
    middle = _median(first)
    if name == "step_time":
        apart, low, high = ((one - 1) * middle for one in (ratio.ratio, ratio.low, ratio.high))
        return [MetricShift(name, "ns", middle, _median(second), apart, low, high, ratio.method)]
    spread = ASSUMED_SPREAD * max(middle, _median(second))
    one = shift(np.asarray(first, np.float64), np.asarray(second, np.float64), confidence, spread)
    return [MetricShift(name, "ns", middle, _median(second), one.middle, one.low, one.high, one.method)]


def _values(name: str, side: SideSummary) -> Sequence[int]:
    """A side's values; a cause of idleness that it never has is 0 in every step."""
    if name in side.series:
        return side.series[name]
    return (0,) * len(side.lengths) if name.startswith("idle.") and "idle" in side.series else ()


def _median(values: Sequence[int]) -> int:
    return sorted(values)[(len(values) - 1) // 2]
