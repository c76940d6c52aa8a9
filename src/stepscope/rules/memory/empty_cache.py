"""The program empties the allocator's cache in its loop.

## What it finds
Memory that is given back to the driver in every step at a place where no operator asks for any, as
`torch.cuda.empty_cache()` does.

## Why it matters
Giving memory back waits for the device to finish everything, and the next step has to take all of it anew, call by
call. The job does not need less memory for it: what a step needs at its peak it needs again in the next one.

## How it decides
In at least `min_recurrence` of the steps after the first, calls outside every operator give memory back, and
operators take memory from the driver again. An allocator that runs short gives back from within the operator that
needs memory: that is another finding. The price is what the step would save if none of these calls were made.

## What to try
Remove the call. If it was put there against failing allocations, their cause is fragmentation or a peak that is too
high.

## Known limits
Without operators in the recording the two cases can't be told apart, and nothing is said. Where Python stacks are
recorded, the call itself confirms it.
"""

from __future__ import annotations

from collections.abc import Iterator

from stepscope.analyses.stepgraph import Change, Scaled
from stepscope.model.amounts import duration, percent
from stepscope.rules.finding import Action
from stepscope.rules.rule import Draft, Limits, Rule, Threshold
from stepscope.signals import Signals
from stepscope.signals.driver_memory import driver_calls, driver_share, emptied, unasked_frees
from stepscope.signals.job import platform

_REMOVE = {
    "npu": Action(
        "Leave the cache alone",
        before="torch_npu.npu.empty_cache()  # in the training loop",
        after="",
        page="memory-fragmentation",
    ),
    "cuda": Action(
        "Leave the cache alone",
        before="torch.cuda.empty_cache()  # in the training loop",
        after="",
        page="memory-fragmentation",
    ),
}


def check(s: Signals, limits: Limits) -> Iterator[Draft]:
    """Look for memory that is given back unasked, and taken again."""
    frees, every = s(unasked_frees), s(driver_calls)
    taken = every.steady.where(~every.steady.free)
    if frees.recurrence < limits["min_recurrence"] or not frees.event.size or not taken.event.size:
        return
    told = s(emptied)
    if told is False:
        return
    share = s(driver_share)
    steps = max(every.steps.size - 1, 1)
    yield Draft(
        title="The allocator's cache is emptied in every step",
        summary=f"{frees.steady.event.size / steps:,.0f} times per step memory is given back where no operator asks "
        f"for any, and {taken.event.size / steps:,.0f} times it is taken anew; that takes "
        f"{duration(int(every.steady.dur.sum()) // steps)} ({percent(share)} of the step) on the host.",
        actions=(_REMOVE["npu" if s(platform) == "npu" else "cuda"],),
        change=Change(host=(Scaled(every.event, 0.0),), unblocked=every.event[every.free]),
        confidence=1.0 if told else 0.9,
        events=frees.event[:20],
        rows=({"table": "memory_churn", "where": {"step": None}},),
        numbers={driver_share.name: share, "recurrence": frees.recurrence, **limits},
    )


RULE = Rule(
    "MEM005",
    "empty-cache",
    thresholds=(
        Threshold(
            "min_recurrence", 0.5, "share", "A cache emptied before an evaluation now and then does little harm."
        ),
    ),
    check=check,
)
