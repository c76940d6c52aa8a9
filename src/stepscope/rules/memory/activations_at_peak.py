"""Activations make up most of a training step's peak.

## What it finds
A peak that consists mostly of what the forward pass keeps for the backward pass.

## Why it matters
Memory that could be recomputed limits the batch or the sequence.

## How it decides
The history of a memory snapshot has allocations of a backward pass, and at the peak what was allocated in forward
passes and lived longer than a few operators is at least `min_share` of all, with at least `min_bytes`. What lives
briefly does not count, nor does inference, where nothing is kept on purpose.

## What to try
Recompute blocks in the backward pass, the largest first; autocast to half precision; fused losses for a large
vocabulary. Nothing of this is needed where the memory suffices.

## Known limits
A snapshot does not know how much memory the device has.
"""

from __future__ import annotations

from collections.abc import Iterator

from stepscope.language import said
from stepscope.model.amounts import percent, quantity
from stepscope.rules.memory.remedies import CHECKPOINT, LESS
from stepscope.rules.rule import Draft, Limits, Rule, Threshold
from stepscope.signals import Signals
from stepscope.signals.snapshots.peak_makeup import makeup, trains


def check(s: Signals, limits: Limits) -> Iterator[Draft]:
    """Compare the activations with the peak."""
    if not s(trains):
        return
    found = s(makeup)
    share = found.share("activations")
    if share < limits["min_share"] or share * found.used < limits["min_bytes"]:
        return
    yield Draft(
        title="Activations make up most of the peak",
        summary=said(
            "The peak of {used}: {by_purpose}. Most at {by_line}. Computing activations again in the "
            "backward pass would save up to {share} ({share_share}).",
            used=quantity(found.used, "bytes"), by_purpose=found.by_purpose(), by_line=found.by_line(),
            share=quantity(share * found.used, "bytes"), share_share=percent(share),
        ),
        actions=(CHECKPOINT, LESS),
        confidence=0.6,
        rows=({"table": "memory_peak_stacks", "where": {"by": "line"}},),
        numbers={"activations": round(share, 4), **limits},
    )  # fmt: skip


RULE = Rule(
    "MEM014",
    "activations-at-peak",
    thresholds=(
        Threshold("min_share", 0.5, "share", "What makes up most of the peak is what to lower."),
        Threshold("min_bytes", 2**30, "bytes", "A peak of some hundred MiB fits any device."),
    ),
    check=check,
    symptom_of=("MEM009", "MEM010"),
)
