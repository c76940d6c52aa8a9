"""The program empties the allocator's cache in its loop.

## What it finds
Memory that is given back to the driver in every step at a place where no operator asks for any, as
`torch.cuda.empty_cache()` does.

## Why it matters
Freeing memory waits for the device to finish everything, and the next step has to allocate all of it again, call by
call. It does not lower the job's peak, which the next step needs again.

## How it decides
In at least `min_recurrence` of the steps after the first, calls outside every operator give memory back, and
operators take memory from the driver again. An allocator that runs short gives back from within the operator that
needs memory: that is another finding. The price is what the step would save if none of these calls were made.

In the history of a memory snapshot, segments are given back with `empty_cache` on the call stack, at one line, at least
`min_times`, and after most of these times segments are allocated again. The price is the time between the segments
given back, and as much for taking those anew, as far as so much passes before segments are taken: cudaMalloc costs
about what cudaFree does, and its own time is not recorded.

## What to try
Remove the call. If it was put there against failing allocations, their cause is fragmentation or a peak that is too
high.

## Known limits
Without operators in the recording the two cases can't be distinguished, and nothing is said. Where Python stacks are
recorded, the call itself confirms it.
"""

from __future__ import annotations

from collections.abc import Iterator

from stepscope.language import said
from stepscope.model.amounts import duration, percent, quantity
from stepscope.model.events.change import Change, Scaled
from stepscope.model.places import source_line
from stepscope.rules.finding import Action
from stepscope.rules.rule import Draft, Limits, Rule, Threshold
from stepscope.rules.wording import often
from stepscope.signals import Signals
from stepscope.signals.memory.driver_memory import driver_calls, driver_share, emptied, unasked_frees
from stepscope.signals.shared.job import platform
from stepscope.signals.snapshots.allocator import (
    Emptying,
    cost_ns,
    driver_names,
    emptyings,
    history_ns,
    most_taking_ns,
    variable,
)

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


#: Where nothing tells whose allocator it is.
_CUDA = ("cudaMalloc", "cudaFree")


def check(s: Signals, limits: Limits) -> Iterator[Draft]:
    """Look for memory that is given back unasked, and taken again."""
    emptied_by = s.maybe(emptyings)
    if emptied_by is not None:
        yield from _in_history(s, emptied_by, limits)
    if emptied_by is None or s.maybe(driver_calls) is not None:
        yield from _in_steps(s, limits)


def _in_history(s: Signals, found: tuple[Emptying, ...], limits: Limits) -> Iterator[Draft]:
    """What the history of a memory snapshot says of each line."""
    for one in found:
        if one.times < limits["min_times"] or one.retaken_times < limits["min_recurrence"] * one.times:
            continue
        spent = None
        if one.free_ns is not None:
            again = one.free_ns * min(one.taken, one.segments) // one.segments
            spent = one.free_ns + min(again, s(most_taking_ns))
        price = (
            ""
            if spent is None
            else said(", about {spent} of {history} in all", spent=duration(spent), history=duration(s(history_ns)))
        )
        take, give = s.maybe(driver_names) or _CUDA
        yield Draft(
            title=said(
                "The allocator's cache is emptied again and again, at {source_line}", source_line=source_line(one.place)
            ),
            summary=said(
                "{times:,} times `empty_cache()` gave back {bytes} in {segments:,} segments, and {taken:,} "
                "segments were allocated again: {segments_2:,} {give} and {taken_2:,} {take}{price}. The peak is "
                "no lower for it.",
                times=one.times, bytes=quantity(one.bytes // one.times, "bytes"), segments=one.segments // one.times,
                taken=one.taken, segments_2=one.segments, give=give, taken_2=one.taken,
                take=take, price=price,
            ),
            actions=(_REMOVE["npu" if "NPU" in s(variable) else "cuda"],),
            cost_ns=None if spent is None else cost_ns(s, spent),
            confidence=0.95,
            always=True,
            rows=({"table": "cache_flushes", "where": {"place": one.place}},),
            numbers={"times": one.times, "segments": one.segments, **limits},
            key=one.place,
        )  # fmt: skip


def _in_steps(s: Signals, limits: Limits) -> Iterator[Draft]:
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
        summary=said(
            "Memory is given back {often} where no operator asks for any, and allocated again {often_2}; "
            "that takes {dur} ({share} of the step) on the host.",
            often=often(frees.steady.event.size / steps), often_2=often(taken.event.size / steps),
            dur=duration(int(every.steady.dur.sum()) // steps), share=percent(share),
        ),
        actions=(_REMOVE["npu" if s(platform) == "npu" else "cuda"],),
        change=Change(host=(Scaled(every.event, 0.0),), unblocked=every.event[every.free]),
        confidence=1.0 if told else 0.9,
        events=frees.event[:20],
        rows=({"table": "memory_churn", "where": {"step": None}},),
        numbers={driver_share.name: share, "recurrence": frees.recurrence, **limits},
    )  # fmt: skip


RULE = Rule(
    "MEM005",
    "empty-cache",
    thresholds=(
        Threshold(
            "min_recurrence", 0.5, "share", "A cache emptied before an evaluation now and then does little harm."
        ),
        Threshold("min_times", 3, "count", "Once or twice is a program that goes from one phase to the next."),
    ),
    check=check,
)
