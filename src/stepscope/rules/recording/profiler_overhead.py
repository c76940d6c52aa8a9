"""The profiler disturbs what it records.

## What it finds
Recordings in which the profiler's own work takes a noticeable part of the steps.

## Why it matters
Steps are longer than without the profiler, and longer in odd places: the host falls behind, and the device seems to
wait for it.

## How it decides
The time in which the profiler itself worked (buffers it flushed, and the like) makes up 10 % of the steps or more;
nsys-ai warns from there on. It is advised if it is among the three things whose lack leaves most of the step
unexplained.

## What to try
Record fewer kinds of events: stacks and Python functions cost most, then shapes and memory; give the profiler larger
buffers, and a warm-up.

## Known limits
What the profiler adds inside each call is not marked and can't be seen.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from stepscope.model.amounts import percent
from stepscope.rules.finding import Action
from stepscope.rules.recording.chosen import READS, advice, lacking
from stepscope.rules.rule import Draft, Limits, Rule
from stepscope.signals import Signals

_ACTIONS = {
    "any": Action(
        "Record without stacks, and let the profiler warm up",
        before="profile(with_stack=True, record_shapes=True, profile_memory=True)",
        after="profile(schedule=schedule(wait=5, warmup=3, active=3), with_stack=False)",
        page="recording",
    ),
    "nsight": Action(
        "Record fewer kinds of events, without sampling",
        before="nsys profile --trace=cuda,nvtx,osrt --cudabacktrace=all",
        after="nsys profile --trace=cuda,nvtx --sample=none --cpuctxsw=none",
        page="recording",
    ),
    "ascend": Action(
        "Record at a lower level, without stacks",
        before="profiler_level=ProfilerLevel.Level2, with_stack=True",
        after="profiler_level=ProfilerLevel.Level1, with_stack=False",
        page="recording",
    ),
}


def job_check(signals: Mapping[int, Signals], _: Limits) -> Iterator[Draft]:
    """Advise it if little else is as useful."""
    found = lacking(signals, "overhead")
    if found is not None:
        yield from advice(
            found,
            "The profiler takes part of the steps",
            f"The profiler's own work takes {percent(found.weight - 1)} of the steps: without it they are "
            "shorter, and the device waits less.",
            _ACTIONS,
        )


RULE = Rule("REC002", "profiler-overhead", job_check=job_check, reads=READS)
