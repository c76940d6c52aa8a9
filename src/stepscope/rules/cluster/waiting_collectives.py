"""Collectives last many times as long as comparable ones.

## What it finds
Exposed collectives that take many times as long as comparable ones, in recordings that do not distinguish waiting from
transfer.

## Why it matters
A collective ends when the last rank has arrived. One that lasts a hundred times as long as the next one does not move a
hundred times the data: a rank arrived late, or the sender of a broadcast was not ready.

## How it decides
Where sizes are recorded, a collective that takes five times what the quickest of its kind and group took for its size,
or for more; where they are not, up to three that last eight times as long as the longest of all others
(`long_calls.standing_out`). What they last beyond that, exposed, must come to `min_share` of the step. The price is
that time.

## What to try
Record the same steps on all ranks: the late one is named then. Look at what the sender of a broadcast does before it:
with tensor parallelism the first rank loads the batch for all.

## Known limits
An inference from durations: a collective whose size is not recorded may really move that much. The first step after
the profiler began waits for ranks on which it began later.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from stepscope.language import said
from stepscope.model.amounts import duration, percent
from stepscope.rules.finding import Action
from stepscope.rules.rule import Draft, Limits, Rule, Threshold
from stepscope.signals import Signals
from stepscope.signals.communication.communication import CollectiveCalls, calls
from stepscope.signals.shared.job import step_ns

_RECORD = Action(
    "Record the same steps on all ranks, and open them together: the late one is named then",
    before="with profile(...) if rank == 0 else nullcontext():",
    after="with profile(...):  # on every rank, into one folder",
    page="slow-ranks",
)
_SENDER = Action(
    "Look at what the sender does before it: it often loads the batch for all ranks of its group",
    page="slow-ranks",
)
_LATE = Action(
    "Look for what one rank does before it and the others don't: loading, logging, checkpoints, garbage collection",
    page="slow-ranks",
)


def check(s: Signals, limits: Limits) -> Iterator[Draft]:
    """Compare what stands out with the step."""
    found = s(calls)
    waited = np.where(found.long, np.minimum(found.exposed, found.dur - found.transfer), 0)
    cost = int(waited.sum()) // found.steps
    share = cost / s(step_ns)
    if share < limits["min_share"]:
        return
    order = np.argsort(-waited, kind="stable")
    first, number = order[0], int(np.count_nonzero(waited))
    kind = str(found.name[first])
    yield Draft(
        title="Collectives last many times as long as comparable ones",
        summary=said(
            "{which} {cost} of each step ({share}) longer than comparable ones, without overlapping "
            "compute: {longest}. Most likely it waits for {kind}; the recording alone can't confirm it.",
            which=_which(number, kind), cost=duration(cost), share=percent(share),
            longest=_longest(found, int(first)),
            kind=said("its sender") if kind == "broadcast" else said("a rank that arrives late"),
        ),
        actions=(_SENDER, _RECORD) if kind == "broadcast" else (_LATE, _RECORD),
        cost_ns=cost,
        confidence=0.6,
        events=found.event[order[: min(number, 20)]],
        rows=({"table": "collectives", "where": {"name": kind}},),
        numbers={"long_share": share, **limits},
    )  # fmt: skip


def _which(number: int, kind: str) -> str:
    return (
        said("One {kind} takes", kind=kind)
        if number == 1
        else said("{number} collectives, mostly {kind}, take", number=number, kind=kind)
    )


def _longest(found: CollectiveCalls, at: int) -> str:
    needed = max(int(found.transfer[at]), 1)
    size = said("of comparable ones") if found.bytes[at] > 0 else said("of the longest others")
    return said(
        "the longest lasts {dur}, {times:.0f} times the {needed} {size}",
        dur=duration(int(found.dur[at])), times=found.dur[at] / needed, needed=duration(needed), size=size,
    )  # fmt: skip


RULE = Rule(
    "CLU007",
    "waiting-collectives",
    thresholds=(
        Threshold("min_share", 0.05, "share", "From 5 % on msprof-analyze calls differences between ranks an issue."),
    ),
    check=check,
)
