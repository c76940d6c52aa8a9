"""The profiler slows down what it records.

## What it finds
Recordings in which the profiler's own work takes a noticeable part of the steps, or makes what it records longer.

## Why it matters
Steps are longer than without the profiler, and longer in odd places: the host falls behind, and the device seems to
wait for it.

## How it decides
The time in which the profiler itself worked (buffers it flushed, and the like) makes up 10 % of the steps or more;
nsys-ai warns from there on. Or it adds as much to the host's work (`profiler_cost.added_work`): stacks, which make the
operators of the thread that runs Python several times as long as equal ones of another; an observer that numbers all
operators; the lookup of lines, for which the calls of a long generated function wait longer the further down they are.
It is advised if it is among the three things whose lack leaves most of the step unexplained.

## What to try
Record fewer kinds of events: stacks and Python functions cost most, then shapes and memory; give the profiler larger
buffers, and a warm-up.

## Known limits
What the profiler adds inside each call is not marked; it shows only where equal calls can be compared.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from stepscope.language import pattern, said
from stepscope.model.amounts import percent
from stepscope.rules.finding import Action
from stepscope.rules.recording.chosen import READS, advice, lacking
from stepscope.rules.rule import Draft, Limits, Rule
from stepscope.signals import Signals
from stepscope.signals.host.profiler_cost import ProfilerCost, added_work

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
#: How the overhead shows, and what it means for other findings.
_HOW: Final = {
    "observer": pattern(
        "An observer (an execution trace) writes down every operator: those that call nothing take {times:.0f} "
        "times as long as usual, so that host times are not the job's. About {share} of the host's time is the "
        "profiler's."
    ),
    "stacks": pattern(
        "Operators of the thread that runs Python take {times:.1f} times as long as equal ones of the thread "
        "that runs the backward pass, as where a stack is collected with each. That overhead is not the job's. "
        "About {share} of the "
        "host's time is the profiler's."
    ),
    "lines": pattern(
        "The pauses between the calls of a generated function grow {times:.0f}-fold from its start to its end, "
        "since the recorder of Python stacks (with_stack) looks up the line of each call. About {share} of the "
        "host's time is the profiler's."
    ),
}
_BY_CAUSE: Final = {
    "observer": Action(
        "Record again without the execution-trace observer before believing times of the host",
        before="profile(execution_trace_observer=observer)",
        after="profile(schedule=schedule(wait=5, warmup=3, active=3))",
        page="recording",
    ),
    **dict.fromkeys(
        ("stacks", "lines"),
        Action(
            "Record again without stacks before believing times of the host",
            before="profile(with_stack=True)",
            after="profile(schedule=schedule(wait=5, warmup=3, active=3), with_stack=False)",
            page="recording",
        ),
    ),
}


def job_check(signals: Mapping[int, Signals], _: Limits) -> Iterator[Draft]:
    """Advise it if little else is as useful."""
    found = lacking(signals, "overhead")
    if found is None:
        return
    seen = max(
        (signals[rank].maybe(added_work) or ProfilerCost() for rank in found.ranks), key=lambda one: one.added_ns
    )
    if seen.cause:
        share = percent(found.weight - 1)
        summary = said(_HOW[seen.cause], times=seen.times, share=share)
        yield from advice(
            found, said("The profiler slows down what it records"), summary, {"any": _BY_CAUSE[seen.cause]}
        )
        return
    yield from advice(
        found,
        said("The profiler takes part of the steps"),
        said(
            "The profiler's own work takes {weight} of the steps: without it steps are shorter, and the "
            "device waits less.",
            weight=percent(found.weight - 1),
        ),
        _ACTIONS,
    )


RULE = Rule("REC002", "profiler-overhead", job_check=job_check, reads=(*READS, added_work))
