"""The host is not recorded.

## What it finds
Device work without the operators or calls that led to it, or sums of idle time without any events.

## Why it matters
The host shows why the device waits: loading, dispatch, synchronisation, allocation. Without it idle time has no cause
and kernels have no operator.

## How it decides
There is device activity and no host thread with operators or calls of the runtime; or only the profiler's sums are at
hand, and the device is idle for a tenth of the step or more by them. It is advised if it is among the
three things whose lack leaves most of the step unexplained.

## What to try
Record the host as well; a few steps suffice.

## Known limits
Work that graphs replay has no operators even so.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from stepscope.language import said
from stepscope.model.amounts import percent
from stepscope.rules.finding import Action
from stepscope.rules.recording.chosen import READS, advice, lacking
from stepscope.rules.rule import Draft, Limits, Rule
from stepscope.signals import Signals
from stepscope.signals.recording.recording import calls_known, work_known

#: How to record the host, by the profiler that left it out.
ACTIONS = {
    "any": Action(
        "Record the host as well as the device",
        before="profile(activities=[ProfilerActivity.CUDA])",
        after="profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA])",
        page="recording",
    ),
    "ascend": Action(
        "Give the whole result folder, recorded with the host",
        before="activities=[ProfilerActivity.NPU], or a folder without trace_view.json",
        after="torch_npu.profiler.profile(activities=[ProfilerActivity.CPU, ProfilerActivity.NPU])",
        page="recording",
    ),
    "nsight": Action(
        "Trace calls of CUDA and ranges",
        before="nsys profile --trace=cuda ./program",
        after="nsys profile --trace=cuda,nvtx,osrt ./program",
        page="recording",
    ),
    "otherwise": Action(
        "Record what the host does (its operators, and its calls of the device's runtime) together with the device, "
        "and give the profiler's whole result folder, timeline included",
        page="recording",
    ),
}


def job_check(signals: Mapping[int, Signals], _: Limits) -> Iterator[Draft]:
    """Advise it if little else is as useful."""
    found = lacking(signals, "host")
    if found is not None and all(signals[rank].maybe(calls_known) is True for rank in found.ranks):
        title, missing = (
            said("Operators are not recorded"),
            said(
                "Which operator launched what, and what the host did between its calls of the device, is not in "
                "the recording."
            ),
        )
        yield from advice(found, title, missing, ACTIONS)
        return
    if found is not None and all(signals[rank].maybe(work_known) is False for rank in found.ranks):
        yield from advice(
            found,
            said("Only sums are recorded"),
            said(
                "The device is idle for {weight} of the step. What it waits for is not in the recording, "
                "which holds sums of its profiler and no events.",
                weight=percent(found.weight),
            ),
            ACTIONS,
        )
        return
    yield from advice(
        found,
        said("The host is not recorded"),
        said("What the device waited for, and which operator launched what, is not in the recording."),
        ACTIONS,
    )


RULE = Rule("REC004", "no-host", job_check=job_check, reads=READS, symptom_of=("HST017",))
