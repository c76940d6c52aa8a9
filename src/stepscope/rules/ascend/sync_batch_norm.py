"""Batch normalisations are synchronised over all ranks, many times per step.

## What it finds
Many calls of SyncBatchNorm in a step.

## Why it matters
Each gathers statistics from all ranks in the forward pass and again in the backward pass: small collectives that
everything waits for.

## How it decides
At least `min_calls` per step. It is advice: the small collectives themselves are priced by a rule of their own.

## What to try
Synchronise within smaller groups, keep it where batches per rank are tiny, or use normalisations that need no batch.

## Known limits
Fewer samples per statistic may change accuracy; a profiler does not see that.
"""

from __future__ import annotations

from collections.abc import Iterator

from stepscope.language import said
from stepscope.rules.finding import Action
from stepscope.rules.rule import Draft, Limits, Rule, Threshold
from stepscope.signals import Signals
from stepscope.signals.ascend.npu_dispatch import synced_norms

_LOCAL = Action(
    "Synchronise within groups of a few ranks, or not at all",
    before="model = nn.SyncBatchNorm.convert_sync_batchnorm(model)",
    after="model = nn.SyncBatchNorm.convert_sync_batchnorm(model, process_group=group_of_this_host)",
    page="collective-bandwidth",
)


def check(s: Signals, limits: Limits) -> Iterator[Draft]:
    """Count them."""
    found = s(synced_norms)
    if found.per_step < limits["min_calls"]:
        return
    yield Draft(
        title="Batch normalisation is synchronised many times",
        summary=said(
            "{per_step:,.0f} times per step batch normalisation gathers statistics from all ranks.",
            per_step=found.per_step,
        ),
        actions=(_LOCAL,),
        confidence=0.6,
        events=found.event[:20],
        numbers={"calls per step": found.per_step, **limits},
    )


RULE = Rule(
    "ASC013",
    "sync-batch-norm",
    thresholds=(Threshold("min_calls", 20, "count", "msprof-analyze reports 20 calls and more."),),
    check=check,
)
