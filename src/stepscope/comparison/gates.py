"""Limits on how much a metric may grow, such as `step_time>3%`, and whether a comparison keeps them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from stepscope.comparison.metrics import MetricShift
from stepscope.model.amounts import percent, quantity
from stepscope.model.errors import UserError
from stepscope.model.suggest import choose

_GATE: Final = re.compile(r"\s*([a-z_]+(?:\.[a-z_]+)?)\s*>\s*(\d+(?:\.\d+)?)\s*%\s*")
#: Metrics that gates may name; `idle.` takes a cause as well.
METRICS: Final = (
    "step_time", "compute", "exposed_comm", "exposed_copy", "idle", "idle.data_wait", "idle.synchronisation",
    "idle.allocation", "idle.host_dispatch", "idle.launch_latency", "idle.dependency", "idle.profiler_overhead",
    "idle.unknown", "peak_memory", "peak_reserved",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class GrowthLimit:
    """A metric must not grow by more than this share.

    Attributes:
        metric: One of `METRICS`.
        limit: As a share of the base: 0.03 for 3 %.
        text: As given.
    """

    metric: str
    limit: float
    text: str


@dataclass(frozen=True, slots=True)
class GateResult:
    """Whether a limit is kept.

    Attributes:
        gate: The limit, as given.
        failed: Whether the metric grew by more than that, and its growth is outside the noise.
        message: One sentence with figures.
    """

    gate: str
    failed: bool
    message: str


def growth_limit(text: str) -> GrowthLimit:
    """The limit that `METRIC>PERCENT%` means.

    Raises:
        UserError: It means none.
    """
    found = _GATE.fullmatch(text)
    if found is None:
        raise UserError(f"{text!r} is no gate", hint="write METRIC>PERCENT%, such as step_time>3%")
    if found[1] not in METRICS:
        raise UserError(f"no metric is called {found[1]!r}", hint=choose(found[1], METRICS))
    return GrowthLimit(found[1], float(found[2]) / 100, text)


def judge(limits: Sequence[GrowthLimit], metrics: Sequence[MetricShift]) -> tuple[GateResult, ...]:
    """Whether each limit is kept: a metric fails if it grew by more, and the interval of its growth excludes 0.

    Raises:
        UserError: The recordings do not tell a metric.
    """
    known = {one.name: one for one in metrics}
    results = []
    for limit in limits:
        if limit.metric not in known:
            # A cause of idleness that neither side has is 0 on both.
            if limit.metric.startswith("idle.") and "idle" in known:
                results.append(GateResult(limit.text, False, f"{limit.metric} is 0 on both sides"))
                continue
            hint = f"they tell {', '.join(known)}" if known else "they have neither steps nor allocations in common"
            raise UserError(f"the two recordings do not tell {limit.metric} of both sides", hint=hint)
        results.append(_judged(limit, known[limit.metric]))
    return tuple(results)


def _judged(limit: GrowthLimit, one: MetricShift) -> GateResult:
    grown = one.diff > limit.limit * one.base
    failed = grown and one.low > 0
    growth = percent(one.diff / one.base) if one.base else "from nothing"
    figures = f"{one.name} {quantity(one.base, one.unit)} → {quantity(one.new, one.unit)} ({growth}"
    if one.method != "exact" and one.base:
        figures += f", interval {percent(one.low / one.base)} to {percent(one.high / one.base)}"
    end = "" if failed else "; within the noise" if grown else "; kept"
    return GateResult(limit.text, failed, f"{figures}){end}")
