"""Device memory is taken from the driver while the job runs, by totals of the host's calls.

## What it finds
Much time in calls that take device memory from the driver and give it back, by the totals of `api_statistic.csv`,
where the calls themselves are not recorded.

## Why it matters
Memory that goes back to the driver must be mapped anew, and giving it back waits for the device.

## How it decides
Calls for memory, of the calls' outermost layer, add up to at least `min_memory`. Totals tell no times, so that nothing
is priced.

## What to try
Let segments of memory grow, and don't empty the cache in the loop.

## Known limits
Totals are over the whole recording: a job takes its memory in its first steps.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from stepscope.language import said
from stepscope.model.amounts import duration, plural
from stepscope.rules.finding import Action
from stepscope.rules.rule import Draft, Limits, Rule, Threshold
from stepscope.signals import Signals
from stepscope.signals.ascend.npu_totals import added, calls, of_interface

_MEMORY: Final = re.compile(r"aclMallocMemInner|aclrt(Malloc(?!Host)|Free(?!Host)|MallocPhysical|MapMem|UnmapMem)")

_GROW = Action(
    "Let segments of memory grow, and keep what the allocator has",
    before="torch_npu.npu.empty_cache()  # in the loop",
    after="export PYTORCH_NPU_ALLOC_CONF=expandable_segments:True",
    page="memory-fragmentation",
)


def check(s: Signals, limits: Limits) -> Iterator[Draft]:
    """Add the calls up."""
    number, taken, longest = added(of_interface(s(calls), _MEMORY))
    if taken < limits["min_memory"]:
        return
    yield Draft(
        title="Memory is taken from the driver while the job runs",
        summary=said(
            "{calls} that take device memory from the driver or give it back take {taken} of the "
            "recording, the longest {longest}.",
            calls=plural(number, "call"), taken=duration(taken), longest=duration(longest),
        ),
        actions=(_GROW,),
        confidence=0.6,
        rows=({"table": "recorded_totals", "where": {"of": "calls"}},),
        numbers={"taken": taken, **limits},
    )  # fmt: skip


RULE = Rule(
    "ASC015",
    "memory-call-totals",
    thresholds=(
        Threshold("min_memory", 10_000_000, "ns", "msprof-analyze reports calls for memory of 10 ms and more."),
    ),
    check=check,
)
