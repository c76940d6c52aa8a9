"""Limits on how much a metric may grow, such as `step_time>3%`, and whether a comparison keeps them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from stepscope.comparison.metrics import MetricShift, growth_interval, metric_words
from stepscope.language import listing, said
from stepscope.model.amounts import percent, quantity
from stepscope.model.errors import UserError
from stepscope.model.suggest import choose

_GATE: Final = re.compile(r"\s*([a-z0-9_]+(?:\.[a-z_]+)?)\s*([<>])\s*(\d+(?:\.\d+)?)\s*%\s*")
#: The metric that must not fall, rather than grow.
_FALLS: Final = "throughput"
#: Metrics that gates may name; `idle.` takes a cause as well.
METRICS: Final = (
    "step_time", "compute", "exposed_comm", "exposed_copy", "idle", "idle.data_wait", "idle.synchronisation",
    "idle.allocation", "idle.host_dispatch", "idle.launch_latency", "idle.dependency", "idle.profiler_overhead",
    "idle.unknown", "typical_step", "mean_step", "p95_step", "throughput", "stalls", "peak_memory", "peak_reserved",
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
        raise UserError(said("{text!r} is no gate", text=text), hint="write METRIC>PERCENT%, such as step_time>3%")
    if found[1] not in METRICS:
        raise UserError(said("no metric is called {metric!r}", metric=found[1]), hint=choose(found[1], METRICS))
    if (found[2] == "<") != (found[1] == _FALLS):
        hint = said(
            "write {falls}<PERCENT%, which fails if it falls by more; all others fail if they grow: METRIC>PERCENT%",
            falls=_FALLS,
        )  # fmt: skip
        raise UserError(said("{text!r} is no gate", text=text), hint=hint)
    return GrowthLimit(found[1], float(found[3]) / 100, text)


def judge(limits: Sequence[GrowthLimit], metrics: Sequence[MetricShift]) -> tuple[GateResult, ...]:
    """Whether each limit is kept: a metric fails if it grew by more, and the interval of its growth excludes 0.

    Raises:
        UserError: The recordings do not tell a metric, or one of them lacks what it is told by.
    """
    known = {one.name: one for one in metrics}
    untold = any(one.method == "untold" for one in metrics)
    results = []
    for limit in limits:
        if limit.metric == "typical_step" and "step_time" in known:
            results.append(_judged(limit, replace(known["step_time"], name="typical_step"), known["step_time"].base))
            continue
        if limit.metric.startswith("idle.") and untold:
            message = said("one side lacks the calls of the runtime that {metric} is told by", metric=limit.metric)
            raise UserError(message, hint="record both sides at one level of the profiler, or limit idle")
        if limit.metric not in known:
            # A cause of idleness that neither side has is 0 on both.
            if limit.metric.startswith("idle.") and "idle" in known:
                results.append(GateResult(limit.text, False, said("{metric} is 0 on both sides", metric=limit.metric)))
                continue
            hint = (
                said("they tell {metrics}", metrics=", ".join(known)) if known
                else said("they have neither steps nor allocations in common")
            )  # fmt: skip
            message = said("the two recordings do not tell {metric} of both sides", metric=limit.metric)
            raise UserError(message, hint=hint)
        whole = known["step_time"].base if limit.metric == "stalls" and "step_time" in known else None
        found = _judged(limit, known[limit.metric], whole)
        if limit.metric == "step_time" and "stalls" in known:
            found = _with_stalls(limit, found, known["step_time"], known["stalls"])
        results.append(found)
    return tuple(results)


def _with_stalls(limit: GrowthLimit, typical: GateResult, step: MetricShift, stalls: MetricShift) -> GateResult:
    """The judgement of the step with what slow steps cost it: of either, what is no noise counts."""
    if typical.failed or stalls.low <= 0:
        return typical
    grown = stalls.diff + (step.diff if step.low > 0 or step.high < 0 else 0)
    failed = grown > limit.limit * step.base
    slow = said(
        "slow steps cost {cost} more per step ({share})",
        cost=quantity(stalls.diff, "ns"), share=percent(stalls.diff / step.base),
    )  # fmt: skip
    kept = "" if failed else said("kept")
    return GateResult(limit.text, failed, listing(filter(None, (typical.message, slow, kept)), "; "))


def _judged(limit: GrowthLimit, one: MetricShift, whole: float | None = None) -> GateResult:
    """Whether a metric keeps its limit, a share of its base or of `whole`."""
    sign = -1 if limit.metric == _FALLS else 1
    base = one.base if whole is None else whole
    low = min(sign * one.low, sign * one.high)
    grown = sign * one.diff > limit.limit * base
    failed = grown and low > 0
    growth = percent(one.diff / base) if base else said("from nothing")
    if one.method != "exact" and base:
        growth = said("{growth}, interval {ends}", growth=growth, ends=growth_interval(one, base))
    figures = said(
        "{name} {base} → {new} ({growth})", name=one.name, base=metric_words(one.base, one.unit),
        new=metric_words(one.new, one.unit), growth=growth,
    )  # fmt: skip
    end = "" if failed else said("within the noise") if grown else said("kept")
    return GateResult(limit.text, failed, listing(filter(None, (figures, end)), "; "))
