"""Varying sizes make the allocator take memory from the driver in every step.

## What it finds
Steps that allocate other sizes than the steps before, and memory that the allocator keeps taking from the driver for
them.

## Why it matters
A cached block serves an allocation only if it is large enough, and a large one is not split for just any size. With
sizes that never repeat the cache does not work: each step takes new segments, until none are left and the cache has
to be given back.

## How it decides
Less than `max_same` of the bytes allocated in a step are of sizes that the step before had too, and at least
`min_recurrence` of the steps after the first take memory from the driver. The price is what the step would save
without these calls.

## What to try
Pad to a few lengths, or sort samples by length so that batches are alike; warm up with the largest input;
`expandable_segments:True`, or `roundup_power2_divisions` so that similar sizes share blocks.

## Known limits
Needs allocations (`profile_memory=True`), calls of the runtime, and some steps. Models that allocate different sizes
but settle are not reported.
"""

from __future__ import annotations

from collections.abc import Iterator

from stepscope.language import said
from stepscope.model.amounts import percent, quantity
from stepscope.model.errors import MissingInputError
from stepscope.model.events.change import Change, Scaled
from stepscope.rules.finding import Action
from stepscope.rules.rule import Draft, Limits, Rule, Threshold
from stepscope.rules.wording import allocator_variable
from stepscope.signals import Signals
from stepscope.signals.memory.driver_memory import driver_calls
from stepscope.signals.memory.memory import peaks, same_sizes
from stepscope.signals.shared.job import platform

_PAD = Action(
    "Pad batches to a few lengths, and begin with the longest",
    before="pad_sequence(batch)",
    after="length = next(n for n in (256, 512, 1024, 2048) if n >= longest)\n"
    "F.pad(pad_sequence(batch), (0, length - longest))",
    page="memory-fragmentation",
)


def check(s: Signals, limits: Limits) -> Iterator[Draft]:
    """Compare sizes with those of the step before, and look whether memory is taken for them."""
    same = s(same_sizes)
    if same is None:
        raise MissingInputError(
            "sizes of allocations are not recorded over several steps",
            hint="record some steps with profile_memory=True",
        )
    calls = s(driver_calls)
    taken = calls.steady.where(~calls.steady.free)
    if same >= limits["max_same"] or calls.recurrence < limits["min_recurrence"] or not taken.event.size:
        return
    variable = allocator_variable(s(platform))
    reserved = max(peak.reserved or 0 for peak in s(peaks))
    yield Draft(
        title="Varying sizes keep the allocator taking memory",
        summary=said(
            "Only {same} of the bytes that a step allocates are of sizes that the step before had; {size} "
            "times memory was taken from the driver after the first step, {reserved} in the end.",
            same=percent(same), size=taken.event.size, reserved=quantity(reserved, "bytes"),
        ),
        actions=(
            _PAD,
            Action(
                "Let segments grow with the sizes",
                before=f"{variable} unset",
                after=f"export {variable}=expandable_segments:True",
                page="memory-fragmentation",
            ),
        ),
        change=Change(host=(Scaled(calls.event, 0.0),), unblocked=calls.event[calls.free]),
        confidence=0.8,
        events=taken.event[:20],
        rows=({"table": "memory_churn", "where": {"step": None}},),
        numbers={same_sizes.name: same, "recurrence": calls.recurrence, **limits},
    )  # fmt: skip


RULE = Rule(
    "MEM004",
    "varying-shapes",
    thresholds=(
        Threshold(
            "max_same",
            0.8,
            "share",
            "With fixed shapes it is 100 %; a last smaller batch or a metric every few steps takes some per cent off.",
        ),
        Threshold("min_recurrence", 0.5, "share", "Calls in less than half of the steps are those of a warm-up."),
    ),
    check=check,
    symptom_of=("MEM005",),
)
