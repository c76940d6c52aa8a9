"""Communication is exposed: it is not overlapped with compute.

## What it finds
Collectives during which the device computes nothing, although the step has compute that could overlap them: gradients
reduced after the whole backward pass, parameters gathered only when their layer needs them.

## Why it matters
Links and compute units work independently. A transfer that overlaps compute costs nothing; an exposed one adds its
whole length to the step, on every rank.

## How it decides
Exposed transfer must reach `min_share` of the step (`communication.transfer_share`). Waiting for a late rank does not
count: overlapping does not shorten it. With the recordings of all ranks, the transfer is the shortest participant's
time; with one rank, waiting and transfer can't be distinguished, which lowers the confidence. The price is the saving
on the step's dependency graph if these collectives started as soon as their data is ready and no device work waited for
them: the last gradients, with no compute left beside them, stay exposed. Where collectives already start at once and
run back to back, or what is computed while none runs is a tenth of them or less, nothing is left to overlap: then there
is no price, and the remedy is to send less; where one reduction per step, or one gathering of
parameters per pass, carries nearly everything, to divide it: the recording can't tell which of its parts could have
started earlier. Of recordings that hold their profiler's sums only,
exposed communication of a tenth of the step is told without a price.

## What to try
Let DistributedDataParallel reduce bucket by bucket during the backward pass instead of one reduction after it; with
FSDP, gather the next layer's parameters while this one computes. With gradient accumulation, reduce only once per
optimizer step. Where the transfers are longer than all the compute there is, send less: bf16 gradients, another
sharding.

## Known limits
Recordings do not show whether a result was needed at once: a collective whose result the next operator reads, as in
tensor parallelism, can't be overlapped. Of models that only infer that is known, as it is where the groups' names say
that layers are divided over their ranks; then there is no price. The price assumes that overlapped kernels run as fast
as alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from stepscope.language import said
from stepscope.model.amounts import duration, percent
from stepscope.model.events.change import Change
from stepscope.model.program import Program
from stepscope.rules.communication.exposed_remedies import (
    ACCUMULATE,
    ASIDE,
    COMPRESS,
    DIVIDED_LAYERS,
    EITHER,
    EVENTS,
    EXCHANGE,
    FEWER,
    HALVED,
    LESS,
    MEGATRON,
    MULTIPLIED,
    OWN_KERNEL,
    PREFETCH,
    REDUCE,
    STAGES,
)
from stepscope.rules.communication.one_reduction import DIVIDED, divisible, in_one
from stepscope.rules.communication.step_sums import in_sums
from stepscope.rules.finding import Action
from stepscope.rules.rule import Draft, Limits, Rule, Threshold
from stepscope.signals import Signals
from stepscope.signals.communication.communication import (
    NO_GROUP,
    CollectiveCalls,
    calls,
    exposed_share,
    link_share,
    transfer_share,
)
from stepscope.signals.communication.pipeline import stage
from stepscope.signals.communication.process_groups import megatron, tensor_groups
from stepscope.signals.recording.accounting import account
from stepscope.signals.recording.enough import Verdict, verdict
from stepscope.signals.recording.recording import work_known
from stepscope.signals.shared.job import step_ns
from stepscope.signals.shared.program import program

#: A collective that took longer than this many times its transfer mostly waited.
_WAITED = 2

_SHARDED = ("all_gather", "reduce_scatter")
#: What a pipeline's bubble explains; gradients and parameters are reduced and gathered besides.
_BETWEEN_STAGES = ("send", "recv", "send_recv")
#: NCCL has one kernel for sends and receives, and for what is made of them.
_ANY_EXCHANGE = said(" (an exchange between all ranks or between two: one kernel does both)")
#: Where collectives run for this share of the step, there is too little compute to hide them.
_FULL = 0.8
#: The same where all compute that runs beside no collective is so small a part of what is exposed.
_LITTLE = 0.1
#: Waiting beside the transfer that is so much of it would make readers wonder about the sums of the step.
_BEYOND = 0.1
#: Communication exposed for this share of the step is reported even if no compute is left to hide it.
_LARGE = 0.1


def check(s: Signals, limits: Limits) -> Iterator[Draft]:
    """Compare the exposed transfer with the step."""
    if s.maybe(work_known) is False:
        yield from in_sums(s, (EVENTS, EITHER), (EVENTS, STAGES), _LARGE)
        return
    share = s(transfer_share)
    if share < limits["min_share"]:
        return
    found = s(calls)
    costly = np.argsort(-found.exposed_transfer, kind="stable")
    movable = (found.exposed > 0) & (found.dur <= _WAITED * found.transfer)
    kind = _costliest(found)
    unnamed = kind == "send_recv" and bool(((found.bytes <= 0) & (found.group == NO_GROUP)).all())
    exposed = found.exposed_ns // found.steps
    busy = s.maybe(link_share)
    full = busy is not None and (busy >= _FULL or _alone(s, busy) <= _LITTLE * share)
    unsure = (
        "" if found.known else said(" Part of it may be waiting for other ranks: one recording can't distinguish that.")
    )
    if (s.maybe(verdict) or Verdict()).kind == "thinned":
        unsure += said(" It is at most that much: compute beside it may be among the events that were taken out.")
    overlapping = Draft(
        title="Communication is not overlapped with compute",
        summary=said(
            "Exposed communication: {exposed} of each step ({share}), mostly {kind}{unnamed}, is not "
            "overlapped with compute.{beyond}{unsure}",
            exposed=duration(exposed), share=percent(share), kind=kind, unnamed=_ANY_EXCHANGE if unnamed else "",
            beyond=_beyond(s, share), unsure=unsure,
        ),
        actions=(EXCHANGE, STAGES) if unnamed else _actions(kind, s.maybe(megatron) is True),
        change=Change(overlapped=found.event[movable]) if movable.any() else None,
        most_ns=exposed,
        confidence=0.9 if found.known else 0.6,
        apart_from=() if kind in _BETWEEN_STAGES else ("CLU006",),
        events=found.event[costly[:20]],
        rows=({"table": "collectives", "where": {"name": kind}},),
        numbers={
            transfer_share.name: share,
            exposed_share.name: s(exposed_share),
            "min_share": limits["min_share"],
        },
    )  # fmt: skip
    inferring = _between_layers(kind, s.maybe(program))
    if inferring or _of_divided_layers(s, found, kind):
        yield replace(
            overlapping,
            summary=said(
                "{summary} The next layer needs each result: it can be made shorter, but not hidden.",
                summary=overlapping.summary,
            )
            if inferring
            else said(
                "{summary} They run among the ranks that each layer is divided over: the next operation needs their "
                "result, so that only their own multiplication can hide them.",
                summary=overlapping.summary,
            ),
            actions=(OWN_KERNEL, MULTIPLIED, FEWER) if inferring else DIVIDED_LAYERS,
            change=None,
            most_ns=None,
            taken_ns=exposed,
            waiting=True,
        )
        return
    if busy is None:
        yield overlapping
        return
    at_once = "" if full else said(" and start as soon as their data is ready")
    running = said("for {busy} of the step", busy=percent(busy)) if busy < 1 else said("for as long as the step takes")
    left = said("next to no compute") if full and busy < _FULL else said("no compute")
    why: str = said("{left} is left to hide more of them", left=left)
    if full:
        why = said("{left} is left to hide them", left=left)
    one = not full and in_one(found, kind)
    if one:
        why = divisible(kind)
    bound = replace(
        overlapping,
        summary=said(
            "{summary} Collectives run {running}{at_once}: {why}.",
            summary=overlapping.summary, running=running, at_once=at_once, why=why,
        ),
        actions=(*(DIVIDED if one else ()), *_fewer_bytes(kind)) or overlapping.actions,
        change=None,
        most_ns=None,
        taken_ns=exposed,
        # What a pipeline's stages wait for each other has a rule and a price of its own.
        waiting=kind not in _BETWEEN_STAGES or s.maybe(stage) is None,
    )  # fmt: skip
    yield bound if full else replace(overlapping, instead=bound if share >= _LARGE else None)


def _beyond(s: Signals, share: float) -> str:
    """What is exposed beyond the transfer, which the budget counts as well; empty where that is little."""
    waiting = s(exposed_share) - share
    if waiting < _BEYOND * share:
        return ""
    longer = duration(round(waiting * s(step_ns)))
    if s(calls).known:
        return said(" Another {longer} ({share}) they wait for other ranks.", longer=longer, share=percent(waiting))
    return said(
        " Another {longer} ({share}) is what they last longer than their like: most likely they wait for other ranks.",
        longer=longer, share=percent(waiting),
    )  # fmt: skip


def _alone(s: Signals, busy: float) -> float:
    """Share of the step in which something is computed and no collective runs; 1 where that is not known."""
    told, exposed = s.maybe(account), s.maybe(exposed_share)
    return 1.0 if told is None or exposed is None else max(1.0 - told.lost - (busy - exposed), 0.0)


def _between_layers(kind: str, told: Program | None) -> bool:
    """Whether collectives exchange what the next layer needs: a model that only infers has no gradients to reduce.

    Parameters are gathered for it, too, but by no server.
    """
    if told is None or not told.infers:
        return False
    return kind == "all_reduce" or (kind in _SHARDED and told.kind == "serving")


def _of_divided_layers(s: Signals, found: CollectiveCalls, kind: str) -> bool:
    """Whether most of what is exposed are exchanges among ranks that single layers are divided over."""
    if kind not in (*_SHARDED, "all_reduce"):
        return False
    mine = np.isin(found.group, sorted(s.maybe(tensor_groups) or ()))
    return 2 * int(found.exposed_transfer[mine].sum()) > int(found.exposed_transfer.sum())


def _costliest(found: CollectiveCalls) -> str:
    names, index = np.unique(found.name, return_inverse=True)
    return str(names[np.bincount(index, weights=found.exposed_transfer).argmax()])


def _actions(kind: str, of_megatron: bool) -> tuple[Action, ...]:
    if kind in (*_SHARDED, "all_reduce") and of_megatron:
        return (MEGATRON,)
    if kind in _SHARDED:
        return EITHER, PREFETCH, ACCUMULATE
    if kind == "all_to_all":
        return (EXCHANGE,)
    if kind in _BETWEEN_STAGES:
        return (STAGES,)
    if kind in ("all_reduce", "reduce"):
        return REDUCE, EITHER, COMPRESS, HALVED, ACCUMULATE, FEWER
    return ASIDE, FEWER


def _fewer_bytes(kind: str) -> tuple[Action, ...]:
    """Actions that shorten exposed collectives."""
    if kind in _SHARDED:
        return LESS, ACCUMULATE
    return (COMPRESS, HALVED, ACCUMULATE, FEWER) if kind in ("all_reduce", "reduce") else ()


RULE = Rule(
    "COM001",
    "exposed-communication",
    thresholds=(
        Threshold(
            "min_share",
            0.03,
            "share",
            "Least share to which msprof-analyze gives medium priority; TraceLens' agent "
            "looks at 5 %, torch-tb-profiler at 10 % of communication, overlapped or not.",
        ),
    ),
    check=check,
    symptom_of=(
        "COM002",
        "COM003",
        "COM006",
        "COM008",
        "COM009",
        "CLU001",
        "CLU002",
        "CLU003",
        "CLU004",
        "CLU006",
        "CLU009",
    ),
)
