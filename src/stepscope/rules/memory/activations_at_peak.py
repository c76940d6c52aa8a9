"""Activations make up most of the peak.

## What it finds
A peak that consists mostly of what the forward pass keeps for the backward pass, in training; or that is kept though no
backward pass is recorded.

## Why it matters
Memory that could be recomputed limits the batch or the sequence.

## How it decides
The history of a memory snapshot has allocations of a backward pass, and at the peak what was allocated in forward
passes and lived longer than a few operators is at least `min_share` of all, with at least `min_bytes`. What lives
briefly does not count. Without any backward pass `min_blocks` of at least `min_lines` lines must be as much: a cache of
keys and values comes from one or two.

## What to try
Recompute blocks in the backward pass, the largest first; autocast to half precision; fused losses for a large
vocabulary. Nothing of this is needed where the memory suffices. Where no backward pass follows, run without gradients.

## Known limits
A snapshot does not know how much memory the device has. One that ends before the first backward pass of a training
looks like inference that keeps its graph.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from stepscope.language import said
from stepscope.model.amounts import percent, quantity
from stepscope.rules.memory.remedies import CHECKPOINT, DROP, LESS, NO_GRAD
from stepscope.rules.rule import Draft, Limits, Rule, Threshold
from stepscope.signals import Signals
from stepscope.signals.memory.memory import failures
from stepscope.signals.snapshots.peak_makeup import makeup, trains
from stepscope.signals.snapshots.peak_parts import kept_by_forward

#: Lines count that hold this share of it.
_LINE: Final = 0.02


def check(s: Signals, limits: Limits) -> Iterator[Draft]:
    """Compare the activations with the peak."""
    if not s(trains):
        yield from _in_vain(s, limits)
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


def _in_vain(s: Signals, limits: Limits) -> Iterator[Draft]:
    """What forward passes keep where no backward pass is recorded, nor why the program ended."""
    found, rest, failed = s.maybe(kept_by_forward), s.maybe(makeup), s.maybe(failures)
    if found is None or rest is None or failed:
        return
    lines = sum(line.bytes >= _LINE * found.bytes for line in found.lines)
    if found.bytes < max(limits["min_share"] * found.peak, limits["min_bytes"]):
        return
    if found.count < limits["min_blocks"] or lines < limits["min_lines"]:
        return
    yield Draft(
        title="Activations are kept, and no backward pass is recorded",
        summary=said(
            "The peak of {used}: {by_purpose}. Most at {by_line}. If no backward pass follows, the peak is {without} "
            "without what forward passes keep for one.",
            used=quantity(found.peak, "bytes"), by_purpose=rest.by_purpose(), by_line=rest.by_line(),
            without=quantity(found.without, "bytes"),
        ),
        actions=(NO_GRAD, DROP),
        confidence=0.7,
        rows=({"table": "memory_peak_stacks", "where": {"by": "line"}},),
        numbers={"bytes": found.bytes, "blocks": found.count, "lines": lines, **limits},
    )  # fmt: skip


RULE = Rule(
    "MEM014",
    "activations-at-peak",
    thresholds=(
        Threshold("min_share", 0.5, "share", "What makes up most of the peak is what to lower."),
        Threshold("min_bytes", 2**30, "bytes", "A peak of some hundred MiB fits any device."),
        Threshold("min_blocks", 20, "count", "A graph of some layers has dozens of blocks."),
        Threshold("min_lines", 4, "count", "Norm, projections and activation of a layer; a cache has one or two."),
    ),
    check=check,
    symptom_of=("MEM009", "MEM010", "MEM012"),
)
