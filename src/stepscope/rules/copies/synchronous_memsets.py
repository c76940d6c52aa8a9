"""Memsets of page-locked or managed memory are synchronous.

## What it finds
`cudaMemset` and the like on page-locked or managed memory, during which the host waits.

## Why it matters
A memset of device memory returns at once. A memset of host-visible memory returns when it is done, after all work
before it.

## How it decides
The recording must hold the kind of memory, and the call must end after its memset does. The time of these calls must
reach `min_share` of the step. The price is what the step would save if they did not wait.

## What to try
The asynchronous form on a stream; filling page-locked memory on the CPU; keeping the buffer in device memory.

## Known limits
Only Nsight Systems records the kind of memory of memsets.
"""

from __future__ import annotations

from collections.abc import Iterator

from stepscope.language import said
from stepscope.model.amounts import duration, plural
from stepscope.model.events.change import Change
from stepscope.rules.finding import Action
from stepscope.rules.rule import Draft, Limits, Rule, Threshold
from stepscope.signals import Signals
from stepscope.signals.copies.copy_kinds import memsets
from stepscope.signals.copies.transfers import share
from stepscope.signals.shared.job import recorded_steps

_ASYNC = Action(
    "Set asynchronously on a stream",
    before="cudaMemset(p, 0, n);",
    after="cudaMemsetAsync(p, 0, n, stream);",
)


def check(s: Signals, limits: Limits) -> Iterator[Draft]:
    """Compare the host's waiting for memsets with the step."""
    found = s(memsets)
    cost = share(s, found.blocked_ns)
    if not found.event.size or cost < limits["min_share"]:
        return
    steps = s(recorded_steps)
    number = max(found.event.size // steps, 1)
    yield Draft(
        title="Memsets are synchronous",
        summary=said(
            "{memsets} of page-locked or managed memory per step {en_blocks} the host for {blocked}.",
            memsets=plural(number, "memset"), en_blocks="blocks" if number == 1 else "block",
            blocked=duration(found.blocked_ns // steps),
        ),
        actions=(_ASYNC,),
        change=Change(unblocked=found.held),
        events=found.longest,
        rows=({"table": "copies", "where": {"direction": "set"}},),
        numbers={"memsets": found.event.size, "share": round(cost, 4), "min_share": limits["min_share"]},
    )  # fmt: skip


RULE = Rule(
    "CPY006",
    "synchronous-memsets",
    thresholds=(
        Threshold(
            "min_share", 0.01, "share",
            "What costs less than 1 % of the step is not shown; Nsight Systems' rule cuda_memset_sync lists them all.",
        ),
    ),
    check=check,
)  # fmt: skip
