"""Many small collectives, other than gradients.

## What it finds
Collectives of activations, metrics, lengths or counts that are so small that latency dominates their time.

## Why it matters
A reduction of four bytes takes as long as one of a hundred kilobytes, and everything that needs its result waits: a
gradient norm reduced tensor by tensor, losses gathered after each micro-batch, flags that ranks agree on.

## How it decides
A call counts as small if the link, at its usual rate, would need less than half of its time to move its data. There
must be `min_calls` of them in a step, at least `min_part` of all its collectives, and together they must take
`min_share` of the step. The price is what the step would save if they were merged into one, on the device and on the
host.

## What to try
Put what is reduced together into one tensor; reduce metrics every hundred steps, not in each; combine the norm of all
gradients on the device before reducing it once. For point-to-point and exchanges of experts, batch them.

## Known limits
Collectives that depend on each other, as in tensor parallelism, can't be merged; then a smaller group, a single host,
or kernels that compute and communicate at once are the way.
"""

from __future__ import annotations

from collections.abc import Iterator

from stepscope.language import said
from stepscope.model.amounts import duration, percent, quantity
from stepscope.model.events.change import Change, Scaled
from stepscope.rules.finding import Action
from stepscope.rules.rule import Draft, Limits, Rule, Threshold
from stepscope.signals import Signals
from stepscope.signals.communication.communication import calls
from stepscope.signals.communication.messages import others
from stepscope.signals.shared.job import step_ns

_MERGE = Action(
    "Reduce what belongs together in one collective",
    before="for value in metrics.values():\n    dist.all_reduce(value)",
    after="packed = torch.stack(list(metrics.values()))\ndist.all_reduce(packed)",
    page="collective-bandwidth",
)
_RARELY = Action(
    "Reduce metrics only in the steps in which they are written",
    before="dist.all_reduce(loss)\nlog(loss.item())",
    after="if step % 100 == 0:\n    dist.all_reduce(loss)\n    log(loss.item())",
    page="collective-bandwidth",
)


def check(s: Signals, limits: Limits) -> Iterator[Draft]:
    """Compare the small messages with the step."""
    found = s(others)
    share, part = found.ns_per_step / s(step_ns), found.calls.event.size / s(calls).event.size
    if found.per_step < limits["min_calls"] or share < limits["min_share"] or part < limits["min_part"]:
        return
    mean = int(found.calls.bytes.mean())
    yield Draft(
        title="Many small collectives",
        summary=said(
            "{per_step:,.0f} collectives per step carry {mean} on average, so that latency makes up most "
            "of the {ns_per_step} ({share} of the step) they take.",
            per_step=found.per_step, mean=quantity(mean, "bytes"), ns_per_step=duration(found.ns_per_step),
            share=percent(share),
        ),
        actions=(_MERGE, _RARELY),
        change=Change(
            device=(Scaled(found.calls.event, found.time_factor),), host=(Scaled(found.ops, found.count_factor),)
        ),
        confidence=0.7 if found.calls.known else 0.5,
        events=found.calls.event[:20],
        rows=({"table": "collectives", "where": {"name": str(found.calls.name[0])}},),
        numbers={"calls per step": round(found.per_step, 1), "mean bytes": mean, "share": share, **limits},
    )  # fmt: skip


RULE = Rule(
    "COM003",
    "small-messages",
    thresholds=(
        Threshold("min_calls", 8, "count", "Fewer can't cost more than some hundred µs of latency."),
        Threshold("min_share", 0.01, "share", "What costs less than 1 % of the step is not shown."),
        Threshold("min_part", 0.2, "share", "Share of small packets from which msprof-analyze reports them."),
    ),
    check=check,
)
