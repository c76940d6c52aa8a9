"""Gradients are exchanged in many small collectives.

## What it finds
Reductions of gradients, or gathers and scatters of sharded parameters, that are so small that latency dominates them.

## Why it matters
Every collective has a latency of tens of microseconds whatever its size, and the host has to issue each. Hundreds of
small ones take longer than a few large ones with the same bytes.

## How it decides
A call counts as small if it carries less than a default bucket (25 MiB) and the link, at its usual rate, would need
less than half of its time to move its data. There must be `min_calls` of them in a step, and together they must take
`min_share` of it. The price is what the step would save if the same bytes went in messages of 25 MiB, each with the
latency of the fastest small one, and the host issued only as many.

## What to try
Leave `bucket_cap_mb` at its default of 25 or raise it; wrap larger units in FSDP. Parameters that are used rarely or
one by one can be fused into flat ones.

## Known limits
Collectives launched by the thread of the backward pass count as gradients. Larger buckets start later in the backward
pass; the graph prices the recorded order with shorter transfers.
"""

from __future__ import annotations

from collections.abc import Iterator

from stepscope.language import said
from stepscope.model.amounts import duration, percent, quantity
from stepscope.model.events.change import Change, Scaled
from stepscope.rules.finding import Action
from stepscope.rules.rule import Draft, Limits, Rule, Threshold
from stepscope.signals import Signals
from stepscope.signals.communication.messages import gradients
from stepscope.signals.shared.job import step_ns

_DDP = Action(
    "Reduce gradients in larger buckets",
    before="DistributedDataParallel(model, bucket_cap_mb=1)",
    after="DistributedDataParallel(model, bucket_cap_mb=25, gradient_as_bucket_view=True)",
    page="overlapping-communication",
)
_FSDP = Action(
    "Shard larger units: whole blocks of the model rather than single layers",
    before="for layer in model.modules():\n    fully_shard(layer)",
    after="for block in model.blocks:\n    fully_shard(block)\nfully_shard(model)",
    page="fsdp-zero",
)


def check(s: Signals, limits: Limits) -> Iterator[Draft]:
    """Compare the small exchanges with the step."""
    found = s(gradients)
    share = found.ns_per_step / s(step_ns)
    if found.per_step < limits["min_calls"] or share < limits["min_share"]:
        return
    sharded = bool((found.calls.name == "reduce_scatter").any())
    mean = int(found.calls.bytes.mean())
    yield Draft(
        title="Gradients are exchanged in many small collectives",
        summary=said(
            "{per_step:,.0f} collectives per step carry {mean} of gradients on average and take "
            "{ns_per_step} ({share} of the step); in messages of 25 MiB the same bytes would take "
            "{time_factor} of that.",
            per_step=found.per_step, mean=quantity(mean, "bytes"), ns_per_step=duration(found.ns_per_step),
            share=percent(share), time_factor=percent(found.time_factor),
        ),
        actions=(_FSDP if sharded else _DDP,),
        change=Change(
            device=(Scaled(found.calls.event, found.time_factor),), host=(Scaled(found.ops, found.count_factor),)
        ),
        confidence=0.9 if found.calls.known else 0.7,
        events=found.calls.event[:20],
        rows=({"table": "collectives", "where": {"name": str(found.calls.name[0])}},),
        numbers={"calls per step": round(found.per_step, 1), "mean bytes": mean, "share": share, **limits},
    )  # fmt: skip


RULE = Rule(
    "COM008",
    "bucket-size",
    thresholds=(
        Threshold("min_calls", 8, "count", "Fewer can't cost more than some hundred µs of latency."),
        Threshold("min_share", 0.01, "share", "What costs less than 1 % of the step is not shown."),
    ),
    check=check,
)
