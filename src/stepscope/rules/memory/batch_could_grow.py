"""The device has memory and time for a larger batch.

## What it finds
Jobs that use a small part of the device's memory while the device waits for the host between short kernels.

## Why it matters
Host work per step hardly depends on the batch, device work does. A larger batch makes kernels longer until they hide
the host, and samples per second rise although a step takes longer.

## How it decides
The peak of memory in use is at most `max_used` of the device's, and the device is idle for `min_idle` of the step
because the host dispatches or launches too slowly. It is advice, of middling confidence: whether the model still
converges as well is not for a profiler to say.

## What to try
Double the batch (or the micro-batch, with fewer accumulation steps) as long as throughput rises, and adapt the
learning rate.

## Known limits
Latency-bound inference has its batch size given. Memory of libraries outside the allocator is not counted.
"""

from __future__ import annotations

from collections.abc import Iterator

from stepscope.language import said
from stepscope.model.amounts import percent, quantity
from stepscope.rules.finding import Action
from stepscope.rules.rule import Draft, Limits, Rule, Threshold
from stepscope.signals import Signals
from stepscope.signals.memory.memory import fullest, used_share
from stepscope.signals.shared.idleness import waiting_for_host_share

_GROW = Action(
    "Raise the batch size as long as samples per second rise",
    before="DataLoader(dataset, batch_size=32)",
    after="DataLoader(dataset, batch_size=64)",
    page="batch-size",
)
_MORE_AT_ONCE = Action(
    "Answer several inputs at once where their latency allows it",
    before="y = model(x)",
    after="y = model(torch.cat(waiting))",
    page="batch-size",
    needs=("infers",),
)


def check(s: Signals, limits: Limits) -> Iterator[Draft]:
    """Compare memory and idleness with each other."""
    used, idle = s(used_share), s(waiting_for_host_share)
    peak = s(fullest)
    if used > limits["max_used"] or idle < limits["min_idle"] or peak.bound:
        return
    yield Draft(
        title="The batch could be larger",
        summary=said(
            "At most {used} ({share}) of the device's memory are in use, and for {idle} of the step the "
            "device waits for the host to launch work.",
            used=quantity(peak.used, "bytes"), share=percent(used), idle=percent(idle),
        ),
        actions=(_GROW, _MORE_AT_ONCE),
        confidence=0.5,
        rows=({"table": "memory_peaks", "where": {"device": peak.device}},),
        numbers={used_share.name: used, waiting_for_host_share.name: idle, **limits},
    )  # fmt: skip


RULE = Rule(
    "MEM008",
    "batch-could-grow",
    thresholds=(
        Threshold("max_used", 0.4, "share", "Twice the batch then fits with a fifth to spare."),
        Threshold(
            "min_idle",
            0.3,
            "share",
            "torch-tb-profiler advised a larger batch below 50 % utilisation, "
            "whatever the cause; here only idleness that a larger batch fills counts.",
        ),
    ),
    check=check,
)
