"""Score matrices of attention make up much of the peak.

## What it finds
Matrices with one number per pair of tokens and head, written to memory and kept for the backward pass.

## Why it matters
They grow with the square of the sequence. Fused attention computes them in tiles and never writes them: the same result
with less memory and time.

## How it decides
From the call stacks of what is in use at a snapshot's peak: allocations of softmax inside attention, by the names of
files and functions, and those of the same shape beside them, their gradients included. They must reach `min_share` of
the peak and `min_bytes`. If the stacks show the separate GEMMs of `scaled_dot_product_attention`, its inputs did not
suit a fused kernel, and that is what to change.

## What to try
`torch.nn.functional.scaled_dot_product_attention`, in half precision; `flex_attention` for unusual masks.

## Known limits
Attention whose functions and files are called otherwise is not seen. Where the weights themselves are wanted as a
result, fused attention can't give them.
"""

from __future__ import annotations

from collections.abc import Iterator

from stepscope.language import listing, said
from stepscope.model.amounts import percent, quantity
from stepscope.rules.memory.remedies import CHECKPOINT, FUSED, HALF
from stepscope.rules.rule import Draft, Limits, Rule, Threshold
from stepscope.signals import Signals
from stepscope.signals.snapshots.peak_makeup import trains
from stepscope.signals.snapshots.peak_parts import math_attention, scores


def check(s: Signals, limits: Limits) -> Iterator[Draft]:
    """Compare the score matrices with the peak."""
    found = s(scores)
    if found is None or found.bytes < max(limits["min_share"] * found.peak, limits["min_bytes"]):
        return
    slow = s(math_attention)
    lines = listing(line.text for line in found.lines[:3])
    how = said(" scaled_dot_product_attention ran as separate GEMMs and softmax.") if slow else ""
    yield Draft(
        title="Score matrices of attention make up much of the peak",
        summary=said(
            "{bytes} of the {peak} at the peak ({share}) are score matrices of attention's softmax and "
            "GEMMs: {lines}. Without them the peak is {without}.{how}",
            bytes=quantity(found.bytes, "bytes"), peak=quantity(found.peak, "bytes"),
            share=percent(found.bytes / found.peak), lines=lines, without=quantity(found.without, "bytes"), how=how,
        ),
        actions=(HALF if slow else FUSED, *((CHECKPOINT,) if s.maybe(trains) else ())),
        confidence=0.9,
        rows=({"table": "memory_peak_stacks", "where": {"by": "line"}},),
        numbers={"bytes": found.bytes, "without": found.without, **limits},
    )  # fmt: skip


RULE = Rule(
    "MEM013",
    "attention-scores",
    thresholds=(
        Threshold("min_share", 0.1, "share", "A tenth of the peak is worth replacing a few lines."),
        Threshold("min_bytes", 2**28, "bytes", "A few hundred MiB fit any device."),
    ),
    check=check,
    symptom_of=("MEM010",),
)
