"""The profiler's level leaves out the details of the NPU.

## What it finds
Ascend recordings at level 0 or without a level.

## Why it matters
Kinds of cores, counters of their pipes, calls of CANN and single transfers of HCCL are missing: whether kernels run on
the AI CPU, what bounds them, and how fast links are stay unknown.

## How it decides
The recorded level. It is advised if it is among the three things whose lack leaves most of the step unexplained.

## What to try
Level 1 with the counters of pipe utilisation.

## Known limits
Level 2 adds operators of the AI CPU and details that cost more time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from stepscope.language import said
from stepscope.rules.finding import Action
from stepscope.rules.recording.chosen import READS, advice, lacking
from stepscope.rules.rule import Draft, Limits, Rule
from stepscope.signals import Signals

_ACTIONS = {
    "any": Action(
        "Record at level 1 with counters of pipes",
        before="profiler_level=ProfilerLevel.Level0",
        after="experimental_config=torch_npu.profiler._ExperimentalConfig(\n    profiler_level=ProfilerLevel.Level1, "
        "aic_metrics=AiCMetrics.PipeUtilization)",
        page="recording",
    ),
}


def job_check(signals: Mapping[int, Signals], _: Limits) -> Iterator[Draft]:
    """Advise it if little else is as useful."""
    found = lacking(signals, "level")
    yield from advice(
        found,
        said("The profiler's level is low"),
        said("At this level kinds of cores, counters, calls of CANN and transfers of HCCL are not recorded."),
        _ACTIONS,
    )


RULE = Rule("REC010", "low-level", job_check=job_check, reads=READS)
