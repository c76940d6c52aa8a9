"""Call stacks of waits and dispatch are not recorded.

## What it finds
Recordings without call stacks, in which the device waits for synchronisation or dispatch.

## Why it matters
Without stacks a wait is visible, but not the line of the program that causes it.

## How it decides
Idle time caused by synchronisation or dispatch as a share of the step. It is advised if it is among the three things
whose lack leaves most of the step unexplained.

## What to try
Record stacks for one or two steps, apart from the recording that times are taken from: they are costly.

## Known limits
Stacks slow the host down, so that dispatch seems worse than it is.
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
        "Record call stacks in a second, short recording",
        before="profile(activities=...)",
        after="profile(activities=..., with_stack=True,\n        "
        "experimental_config=torch._C._profiler._ExperimentalConfig(verbose=True))",
        page="recording",
    ),
    "ascend": Action(
        "Record call stacks in a second, short recording",
        before="torch_npu.profiler.profile(...)",
        after="torch_npu.profiler.profile(..., with_stack=True)",
        page="recording",
    ),
    "nsight": Action(
        "Record Python stacks of calls that wait",
        before="nsys profile --trace=cuda,nvtx",
        after="nsys profile --trace=cuda,nvtx --python-backtrace=cuda --cudabacktrace=sync",
        page="recording",
    ),
}


def job_check(signals: Mapping[int, Signals], _: Limits) -> Iterator[Draft]:
    """Advise it if little else is as useful."""
    found = lacking(signals, "stacks")
    if found is not None:
        yield from advice(
            found,
            said("Call stacks are not recorded"),
            said(
                "For {weight} of the step the device waits for synchronisation or dispatch, and the line of "
                "code that causes it is unknown.",
                weight=percent(found.weight),
            ),
            _ACTIONS,
        )


RULE = Rule("REC008", "no-stacks", job_check=job_check, reads=READS)
