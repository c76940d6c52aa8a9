"""Graphs are recorded without their kernels.

## What it finds
CUDA graphs whose replays are single events without their kernels.

## Why it matters
All of a graph counts as computation, and nothing can be said of the kernels in it.

## How it decides
The health of the recording says so. It is advised if it is among the three things whose lack leaves most of the step
unexplained.

## What to try
Record the nodes of graphs; it costs some time per kernel.

## Known limits
Operators of kernels in graphs stay unknown; record a few steps without graphs for them.
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
        "Record the nodes of graphs",
        before="nsys profile --cuda-graph-trace=graph",
        after="nsys profile --cuda-graph-trace=node",
        page="recording",
    ),
}


def job_check(signals: Mapping[int, Signals], _: Limits) -> Iterator[Draft]:
    """Advise it if little else is as useful."""
    found = lacking(signals, "graphs")
    yield from advice(
        found,
        said("Graphs are recorded without their kernels"),
        said("Replays of graphs are single events: their kernels and their efficiency are not known."),
        _ACTIONS,
    )


RULE = Rule("REC012", "opaque-graphs", job_check=job_check, reads=READS)
