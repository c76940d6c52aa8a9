"""Pipeline stages wait for each other (bubble).

## What it finds
Ranks of a pipeline that wait in sends and receives for the stage before or after theirs, and compute nothing
meanwhile: the pipeline's bubble.

## Why it matters
The first stage idles until the gradients of its first micro-batch come back, the last one until the first activations
arrive. With p even stages and m micro-batches, (p - 1) / (m + p - 1) of each step is bubble, with v interleaved parts
of the model on each rank (p - 1) / (v m + p - 1); uneven stages add to that, since all wait for the longest.

## How it decides
Sends and receives in a pipeline's process group, or between two ranks that exchange nothing else (`pipeline.stage`), in
a job that trains. Exposed time of these calls beyond the transfer must reach `min_share` of the step on the rank that
waits least of its stage. The transfer is what the library recorded, else the quickest call of the kind for its size.
The price is three quarters of the ranks' mean bubble: what four times the micro-batches, or four chunks of layers per
stage, remove. Where stages compute for different lengths of time, moving layers comes first: evenly divided, the step
is as much shorter as the mean stage is than the longest, and the price is no less than that. Of a bubble that a late
rank makes longer (CLU001, CLU003, CLU004, CLU009) only what would remain without it is counted: what ranks would save
by that, less what they wait for it in collectives.

Where what a rank holds at its peak, times the number of stages, is at most `fits` of a device's memory, the model needs
no pipeline, and doing without comes first: there is no bubble in data parallelism.

## What to try
No pipeline where the model fits without; more micro-batches per step, smaller ones if the batch is to stay; interleaved
stages; layers moved from the longest stage (the last one has the head and the loss as well).

## Known limits
Without the other stages the longest one is not known; without the other pipelines a slow rank looks like a bubble.
That parts are interleaved is told by the first or last of more than two stages, where the other end of sends and
receives is recorded; of two stages the receives are counted as micro-batches. Inference pipelines also wait for
requests, and are not judged.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from statistics import mean, median

from stepscope.language import said
from stepscope.model.amounts import duration, percent, plural, quantity
from stepscope.model.errors import MissingInputError
from stepscope.rules.cluster.lateness import READS, late_by_cause
from stepscope.rules.finding import Action
from stepscope.rules.rule import Draft, Limits, Rule, Threshold
from stepscope.signals import Signals
from stepscope.signals.communication.cluster import waited_ns
from stepscope.signals.communication.pipeline import StageTimes, stage
from stepscope.signals.memory.memory import room
from stepscope.signals.shared.job import step_ns

#: Part of a bubble that remains with four times the micro-batches.
_LEFT = 0.25

_MORE = Action(
    "Let more micro-batches go through the pipeline in each step: smaller ones, or a larger batch",
    before="--micro-batch-size 4 --global-batch-size 16",
    after="--micro-batch-size 1 --global-batch-size 16   # PyTorch: Schedule1F1B(stage, n_microbatches=16)",
    page="pipeline-parallelism",
)
_INTERLEAVE = Action(
    "Give each stage several chunks of layers in turn, so that each fills the others' bubble",
    before="--pipeline-model-parallel-size 2",
    after="--pipeline-model-parallel-size 2 --num-layers-per-virtual-pipeline-stage 4\n"
    "# PyTorch: ScheduleInterleaved1F1B",
    page="pipeline-parallelism",
)
_MOVE = Action(
    "Move layers away from the longest stage; the last one has the head and the loss besides its layers",
    before="--num-layers 28 --pipeline-model-parallel-size 2",
    after="--num-layers 28 --pipeline-model-parallel-size 2 --decoder-last-pipeline-num-layers 10",
    page="pipeline-parallelism",
)
_FEWER = Action(
    "Use fewer stages, and more data parallelism in their place, if the model fits into the memory of fewer devices",
    page="pipeline-parallelism",
)
_NONE = Action(
    "Do without the pipeline: the model fits into one device, and data parallelism in its place has no bubble",
    before="--pipeline-model-parallel-size {stages}",
    after="--pipeline-model-parallel-size 1   # all ranks data parallel; --use-distributed-optimizer",
    page="pipeline-parallelism",
)


def job_check(ranks: Mapping[int, Signals], limits: Limits) -> Iterator[Draft]:
    """Look for bubbles on the stages at hand."""
    found = {rank: one for rank, s in ranks.items() if (one := s.maybe(stage)) is not None}
    lengths = {rank: ns for rank in found if (ns := ranks[rank].maybe(step_ns))}
    if not lengths:
        raise MissingInputError(
            "no rank sends or receives between stages of a pipeline",
            hint="record whole training steps of a job with pipeline parallelism",
        )
    shares = {rank: found[rank].bubble_ns / lengths[rank] for rank in lengths}
    worst = max(shares, key=lambda rank: (shares[rank], -rank))
    if shares[worst] < limits["min_share"]:
        return
    slowest, balance, even = _balance({rank: found[rank] for rank in lengths})
    uneven = balance >= limits["min_ratio"]
    bubble = mean(max(found[rank].bubble_ns - ns, 0) for rank, ns in _for_late({r: ranks[r] for r in lengths}).items())
    needless = _needless(found[worst], _rooms(ranks), limits)
    yield Draft(
        title="Stages of the pipeline wait for each other",
        summary=said(
            "The pipeline's bubble: {who} of the step in sends and receives for {neighbours} (rank "
            "{worst}: {bubble}), without computing.",
            who=_who(found, shares), neighbours=_neighbours(found[worst]), worst=worst,
            bubble=duration(found[worst].bubble_ns),
        )
        + _micro_batches(found[worst])
        + (
            said(
                " Stage {slowest} computes {balance:.2f} times as long as the shortest.",
                slowest=slowest, balance=balance,
            )
            if uneven
            else ""
        )
        + (said(" {needless}", needless=needless) if needless else ""),
        actions=_actions(found[worst], uneven, bool(needless), any(one.parts > 1 for one in found.values())),
        cost_ns=int(max((1 - _LEFT) * bubble, min((1 - even) * max(lengths.values()), bubble) if uneven else 0)),
        confidence=0.9 if found[worst].told else 0.7,
        events=found[worst].events,
        rows=tuple({"table": "collectives", "where": {"rank": rank}} for rank in list(lengths)[:4]),
        numbers={"bubble_share": shares[worst], "stage_balance": balance, **limits},
        ranks=(worst, *(rank for rank in lengths if rank != worst)),
    )  # fmt: skip


def _rooms(ranks: Mapping[int, Signals]) -> list[tuple[int, int]]:
    return [found for s in ranks.values() if (found := s.maybe(room)) is not None]


def _needless(one: StageTimes, rooms: list[tuple[int, int]], limits: Limits) -> str:
    """Says that the whole model fits into one device; empty if it does not, or is not known to."""
    if one.stages is None or not rooms:
        return ""
    used, total = max(rooms)
    if used * one.stages > limits["fits"] * min(size for _, size in rooms):
        return ""
    return said(
        "The model needs no pipeline: a stage holds at most {used}, and {stages} of them fit into the "
        "{total} that the device has at least.",
        used=quantity(used, "bytes"), stages=one.stages, total=quantity(total, "bytes"),
    )  # fmt: skip


def _actions(one: StageTimes, uneven: bool, needless: bool, interleaved: bool) -> tuple[Action, ...]:
    ordered = (_MOVE, _MORE, _INTERLEAVE) if uneven else (_MORE, _INTERLEAVE, _MOVE)
    usual = tuple(action for action in ordered if not (interleaved and action is _INTERLEAVE))
    if not needless:
        return (*usual, _FEWER)
    return (replace(_NONE, before=_NONE.before.format(stages=one.stages)), *usual)


def _for_late(ranks: Mapping[int, Signals]) -> dict[int, int]:
    """What ranks wait in sends and receives because another rank is late, ns per step."""
    try:
        late = [*late_by_cause(ranks, {}).values()]
    except MissingInputError:
        late = []
    if not late:
        return dict.fromkeys(ranks, 0)
    gain, numbers = max(one.gain_ns for one in late), {number for one in late for number in one.numbers}
    return {rank: 0 if rank in numbers else max(gain - (s.maybe(waited_ns) or 0), 0) for rank, s in ranks.items()}


def _who(found: Mapping[int, StageTimes], shares: Mapping[int, float]) -> str:
    """Each rank at hand, or each stage, with the part of its step that it waits."""
    least, most = percent(min(shares.values())), percent(max(shares.values()))
    positions = {found[rank].position for rank in shares}
    one = len(positions) == 1 and None not in positions
    whom: str = plural(len(shares), "rank")
    if one:
        whom = said("{ranks} of stage {stage}", ranks=whom, stage=positions.pop())
    waited = most if least == most else said("{least} to {most}", least=least, most=most)
    return said(
        "{ranks} {en_waits} {share}", ranks=whom, en_waits="waits" if len(shares) == 1 else "wait", share=waited
    )


def _neighbours(one: StageTimes) -> str:
    if one.stages is None:
        return said("another stage")
    return said("the other stage") if one.stages == 2 else said("the others of {stages} stages", stages=one.stages)


def _micro_batches(one: StageTimes) -> str:
    """Number of micro-batches per step: the first and the last stage receive once for each."""
    if not one.arrivals or one.stages is None or one.position not in (0, one.stages - 1):
        return ""
    number, others = round(one.arrivals), (one.stages - 1) / one.parts
    ideal = others / (number + others)
    held = said(" of {parts} interleaved parts each", parts=one.parts) if one.parts > 1 else ""
    return said(
        " {number} micro-batches per step fill {stages} stages{held} to {value} at best.",
        number=number, stages=one.stages, held=held, value=percent(1 - ideal),
    )  # fmt: skip


def _balance(found: Mapping[int, StageTimes]) -> tuple[int, float, float]:
    """The stage that computes longest, its time over the shortest one's, and the mean over it; 1 where not recorded."""
    by_stage: dict[int, list[int]] = {}
    for one in found.values():
        if one.position is not None:
            by_stage.setdefault(one.position, []).append(one.compute_ns)
    times = {position: median(values) for position, values in by_stage.items()}
    if len(times) < 2 or not min(times.values()):
        return 0, 1.0, 1.0
    slowest = max(times, key=lambda position: times[position])
    return slowest, times[slowest] / min(times.values()), mean(times.values()) / times[slowest]


RULE = Rule(
    "CLU006",
    "pipeline-bubble",
    thresholds=(
        Threshold(
            "min_share", 0.05, "share", "Two stages wait as much with 19 micro-batches; less is hardly worth a change."
        ),
        Threshold("fits", 0.8, "share", "Leaves room for communication buffers, and a last stage with head and loss."),
        Threshold("min_ratio", 1.1, "ratio", "One layer more or less of ten: what can be moved at all."),
    ),
    job_check=job_check,
    reads=(*READS, stage, step_ns, waited_ns, room),
)
