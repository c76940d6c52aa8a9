"""The allocator frees and reallocates device memory in every step.

## What it finds
Calls that take device memory from the driver and give it back, again and again in the middle of steps; and those that
take it in every step and never give it back.

## Why it matters
The caching allocator exists so that steps after the first need no such call. Each costs tens to hundreds of
microseconds of host time, and giving memory back waits until the device has finished everything.

## How it decides
In at least `min_recurrence` of the steps after the first (without steps: of tenths of the time in which the device is
in use) there are such calls, memory is given back in at least `min_returns` of them, and their time reaches `min_share`
of the step. A single return is that of any program. Memory that is only taken is the start of any program, too, unless
every one of at least `min_steps` steps after the first takes some, and spends at least `min_even` of the mean time on
that: in a start it becomes less. The price is what the step would save if none of these calls were made and none waited
for the device. In a memory snapshot, the trigger must be known: the allocator's garbage collection, at least
`min_times`, with segments of sizes that had been given back taken again at least `min_again` times. A program that
empties the cache, and an allocation that fails and is tried again, are told by rules of their own.

## What to try
If the memory is nearly full, lower the peak; if sizes vary from step to step, let segments grow
(`expandable_segments:True`), or pad to a few sizes. A garbage collection threshold that is too low gives back what
the next step needs. What takes memory in every step, and not through the framework's allocator, should take it once
before the loop, or through that allocator.

## Known limits
Libraries that allocate for themselves look the same. Whether memory that is only taken piles up is told by MEM006.
"""

from __future__ import annotations

from collections.abc import Iterator

from stepscope.language import said
from stepscope.model.amounts import duration, percent
from stepscope.model.errors import MissingInputError
from stepscope.model.events.change import Change, Scaled
from stepscope.rules import native
from stepscope.rules.finding import Action
from stepscope.rules.memory.only_taken import keeps_taking, only_taken
from stepscope.rules.rule import Draft, Limits, Rule, Threshold
from stepscope.signals import Signals
from stepscope.signals.memory.driver_memory import driver_calls, driver_calls_between, driver_share
from stepscope.signals.memory.memory import churn
from stepscope.signals.shared.job import platform, step_ns
from stepscope.signals.snapshots.allocator import cost_ns, flushes

_EXPANDABLE = Action(
    "Let segments grow instead of being given back and allocated again",
    before="PYTORCH_CUDA_ALLOC_CONF unset",
    after="export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True",
    page="memory-fragmentation",
)
_NPU = Action(
    "Let segments grow instead of being given back and allocated again",
    before="PYTORCH_NPU_ALLOC_CONF unset",
    after="export PYTORCH_NPU_ALLOC_CONF=expandable_segments:True",
    page="memory-fragmentation",
)
_THRESHOLD = Action(
    "Raise the threshold, or leave it unset",
    before="export PYTORCH_CUDA_ALLOC_CONF=garbage_collection_threshold:0.6",
    after="export PYTORCH_CUDA_ALLOC_CONF=garbage_collection_threshold:0.9",
    page="memory-fragmentation",
)
_LOWER = Action("Lower the peak, so that the cache can be kept: smaller micro-batches, recomputation, sharding",
                page="activation-checkpointing", needs=("pytorch",))  # fmt: skip


def check(s: Signals, limits: Limits) -> Iterator[Draft]:
    """Compare the driver's calls with the step."""
    history, calls = s.maybe(churn), s.maybe(driver_calls)
    if history is None and calls is None:
        raise MissingInputError.of("calls")
    grow = _NPU if s(platform) == "npu" else _EXPANDABLE
    if calls is not None and not calls.steps.size:
        yield from _without_steps(s, grow, limits)
    elif calls is not None and calls.returns >= limits["min_returns"] and calls.recurrence >= limits["min_recurrence"]:
        share = s(driver_share)
        if share >= limits["min_share"]:
            found = calls.steady
            per_step = int(found.dur.sum()) // max(calls.steps.size - 1, 1)
            yield Draft(
                title="Device memory is freed and reallocated in every step",
                summary=said(
                    "{size:,.0f} calls per step take memory from the driver or give it back; they take {per_step} "
                    "({share}) of it on the host.",
                    size=found.event.size / max(calls.steps.size - 1, 1), per_step=duration(per_step),
                    share=percent(share),
                ),
                actions=(grow, _LOWER),
                change=Change(host=(Scaled(calls.event, 0.0),), unblocked=calls.event[calls.free]),
                events=found.event[:20],
                rows=({"table": "memory_churn", "where": {"step": None}},),
                numbers={driver_share.name: share, "recurrence": calls.recurrence, "min_share": limits["min_share"]},
            )  # fmt: skip
    elif calls is not None and keeps_taking(calls, limits) and s(driver_share) >= limits["min_share"]:
        yield only_taken(s, calls, grow, limits)
    collected = [row for row in s.maybe(flushes) or () if row["cause"] == "garbage_collection"]
    if history is not None and history["taken_again"] >= limits["min_again"] and len(collected) >= limits["min_times"]:
        given = sum(row["segments"] for row in collected)
        yield Draft(
            title="The allocator's garbage collection frees segments that are allocated again",
            summary=said(
                "{collected:,} times garbage_collection_threshold made the allocator give segments back, "
                "{given:,} in all; {taken_again:,} of {taken:,} segments were taken although one of their "
                "size had been given back before.",
                collected=len(collected), given=given, taken_again=history["taken_again"], taken=history["taken"],
            ),
            actions=(_THRESHOLD, grow),
            cost_ns=cost_ns(s, sum(row["dur"] for row in collected)),
            rows=({"table": "cache_flushes", "where": {"cause": "garbage_collection"}},),
            numbers={"times": len(collected), "taken_again": history["taken_again"], **limits},
            key="snapshot",
        )  # fmt: skip


def _without_steps(s: Signals, grow: Action, limits: Limits) -> Iterator[Draft]:
    """Compare calls all over a recording without steps with the time in which the device is in use."""
    found = s(driver_calls_between)
    total = int(found.dur.sum())
    share = total / max(s(step_ns), 1)
    recurs = found.returns >= limits["min_returns"] and found.recurrence >= limits["min_recurrence"]
    if not recurs or share < limits["min_share"]:
        return
    yield Draft(
        title="Device memory is given back and allocated again all the time",
        summary=said(
            "{size:,} calls take memory from the driver or give it back while the device is in use; they "
            "take {total} ({share} of the time) on the host.",
            size=found.event.size, total=duration(total), share=percent(share),
        ),
        actions=(grow, _LOWER),
        change=Change(host=(Scaled(found.event, 0.0),), unblocked=found.event[found.free]),
        events=found.event[:20],
        rows=({"table": "memory_churn", "where": {"step": None}},),
        numbers={"share": round(share, 4), "recurrence": found.recurrence, "min_share": limits["min_share"]},
    )  # fmt: skip


RULE = Rule(
    "MEM002",
    "allocator-churn",
    thresholds=(
        Threshold(
            "min_share",
            0.01,
            "share",
            "What costs less than 1 % of the step is not shown; msprof-analyze takes 10 ms of such calls in all.",
        ),
        Threshold("min_recurrence", 0.5, "share", "Calls in less than half of the steps are those of a warm-up."),
        Threshold("min_returns", 2, "count", "Memory that is given back once need not be taken again."),
        Threshold("min_steps", 3, "count", "As of memory that only grows (MEM006): three steps are no warm-up."),
        Threshold("min_even", 0.5, "share", "What a start takes falls from step to step; what recurs stays the same."),
        Threshold("min_again", 10, "count", "A few segments taken again are those of an unusual step."),
        Threshold("min_times", 3, "count", "Once or twice is a program that goes from one phase to the next."),
    ),
    check=check,
    elsewhere=native.ALLOCATING,
    symptom_of=("MEM004", "MEM005", "MEM006"),
)
