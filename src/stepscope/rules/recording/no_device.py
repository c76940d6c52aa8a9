"""The device is not recorded.

## What it finds
Calls that launch work on a device, and none of that work.

## Why it matters
Whether the device computes, communicates, copies or waits is the first thing to know of a step.

## How it decides
There are launch calls and no device activity. It is advised if it is among the three things whose lack leaves most of
the step unexplained.

## What to try
Record the device as well. If that was asked for, another profiler may have held it, or its tracing library was
missing.

## Known limits
A job that never uses a device has nothing to record there, and gets no such advice.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from stepscope.rules.finding import Action
from stepscope.rules.recording.chosen import READS, advice, lacking
from stepscope.rules.rule import Draft, Limits, Rule
from stepscope.signals import Signals

_ACTIONS = {
    "any": Action(
        "Record the device as well as the host",
        before="profile(activities=[ProfilerActivity.CPU])",
        after="profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA])   # or NPU, XPU",
        page="recording",
    ),
    "nsight": Action(
        "Let Nsight Systems trace CUDA, alone on the device",
        before="nsys profile --trace=nvtx ./program",
        after="nsys profile --trace=cuda,nvtx ./program",
        page="recording",
    ),
}


def job_check(signals: Mapping[int, Signals], _: Limits) -> Iterator[Draft]:
    """Advise it if little else is as useful."""
    found = lacking(signals, "device")
    yield from advice(
        found,
        "The device is not recorded",
        "Work was launched on a device, but what the device did is missing: no time can be explained.",
        _ACTIONS,
    )


RULE = Rule("REC003", "no-device", job_check=job_check, reads=READS)
