"""Allocations are not recorded although the allocator takes time.

## What it finds
Recordings without allocations, in which the device waits while the host takes device memory from the driver.

## Why it matters
Why the allocator goes back to the driver (varying sizes, a full device, a cache that is emptied) follows from sizes
and totals.

## How it decides
Idle time caused by allocation as a share of the step. It is advised if it is among the three things whose lack leaves
most of the step unexplained.

## What to try
Record allocations, or a snapshot of the allocator's history.

## Known limits
Snapshots exist for CUDA, ROCm, XPU and NPUs; host memory is not in them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from stepscope.language import said
from stepscope.model.amounts import percent
from stepscope.rules.finding import Action
from stepscope.rules.recording.chosen import READS, advice, lacking
from stepscope.rules.rule import Draft, Limits, Rule
from stepscope.signals import Signals

_ACTIONS = {
    "any": Action(
        "Record allocations",
        before="profile(activities=...)",
        after="profile(activities=..., profile_memory=True)",
        page="recording",
    ),
    "nsight": Action(
        "Record the use of device memory",
        before="nsys profile --trace=cuda,nvtx",
        after="nsys profile --trace=cuda,nvtx --cuda-memory-usage=true",
        page="recording",
    ),
}


def job_check(signals: Mapping[int, Signals], _: Limits) -> Iterator[Draft]:
    """Advise it if little else is as useful."""
    found = lacking(signals, "memory")
    if found is not None:
        yield from advice(
            found,
            said("Allocations are not recorded"),
            said(
                "For {weight} of the step the device waits for memory to be allocated, and nothing is "
                "recorded of what is allocated.",
                weight=percent(found.weight),
            ),
            _ACTIONS,
        )


RULE = Rule("REC009", "no-memory", job_check=job_check, reads=READS)
