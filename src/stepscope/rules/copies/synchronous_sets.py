"""Page-locked or managed memory is set by calls that wait.

## What it finds
`cudaMemset` and the like on page-locked or managed memory, during which the host waits.

## Why it matters
Sets of device memory return at once. Sets of memory that the host can see return when they are done, after all work
before them.

## How it decides
The recorder must say what kind of memory was set, and the call must have ended after the set did. The time of these
calls must come to `min_share` of the step. The price is that of calls that don't wait.

## What to try
The asynchronous form on a stream; setting page-locked memory by the CPU; keeping the buffer in device memory.

## Known limits
Of the recorders known here only Nsight Systems notes the kind of memory of sets.
"""

from __future__ import annotations

from collections.abc import Iterator

from stepscope.model.amounts import duration, plural
from stepscope.model.events.change import Change
from stepscope.rules.finding import Action
from stepscope.rules.rule import Draft, Limits, Rule, Threshold
from stepscope.signals import Signals
from stepscope.signals.copies.copying import sets
from stepscope.signals.copies.transfers import share
from stepscope.signals.shared.job import recorded_steps

_ASYNC = Action(
    "Set asynchronously on a stream",
    before="cudaMemset(p, 0, n);",
    after="cudaMemsetAsync(p, 0, n, stream);",
)


def check(s: Signals, limits: Limits) -> Iterator[Draft]:
    """Hold the host's waiting for sets against the step."""
    found = s(sets)
    cost = share(s, found.blocked_ns)
    if not found.event.size or cost < limits["min_share"]:
        return
    steps = s(recorded_steps)
    number = max(found.event.size // steps, 1)
    yield Draft(
        title="Sets of memory are synchronous",
        summary=f"{plural(number, 'set')} of page-locked or managed memory per step "
        f"{'keeps' if number == 1 else 'keep'} the host waiting for {duration(found.blocked_ns // steps)}.",
        actions=(_ASYNC,),
        change=Change(unblocked=found.held),
        events=found.longest,
        rows=({"table": "copies", "where": {"direction": "set"}},),
        numbers={"sets": found.event.size, "share": round(cost, 4), "min_share": limits["min_share"]},
    )


RULE = Rule(
    "CPY006",
    "synchronous-sets",
    thresholds=(
        Threshold(
            "min_share", 0.01, "share",
            "What costs less than 1 % of the step is not shown; Nsight Systems' rule cuda_memset_sync lists them all.",
        ),
    ),
    check=check,
)  # fmt: skip
