"""Short-lived temporaries set the peak.

## What it finds
A peak that rises far above what is in use otherwise, for the length of a few operators: out-of-place updates, casts,
concatenations, temporaries of one large operator.

## Why it matters
The peak alone decides how much memory the job needs. Short-lived tensors can often be computed in place or in chunks.

## How it decides
From the history of a memory snapshot: what is in use at the peak and freed when the allocator had done a few dozen
other things is at least `min_share` of the peak and `min_bytes`. The peak is computed anew without what these lines
allocate so briefly: it must be lower by `min_saved`, else other moments are as high.

## What to try
Update in place (`add_`, `mul_`, `out=`); work in chunks; free the input before the output is made; `del` what is done
with; half precision for the large operator.

## Known limits
The saving is an upper bound: an operator needs some temporaries as workspace.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from stepscope.language import listing, said
from stepscope.model.amounts import percent, quantity
from stepscope.rules.finding import Action
from stepscope.rules.rule import Draft, Limits, Rule, Threshold
from stepscope.signals import Signals
from stepscope.signals.snapshots.peak_makeup import makeup
from stepscope.signals.snapshots.peak_parts import brief

_IN_PLACE: Final = Action(
    "Update in place where no gradient needs the old value",
    before="state = beta * state + (1 - beta) * update",
    after="state.mul_(beta).add_(update, alpha=1 - beta)",
    page="activation-checkpointing",
)
_CHUNKS: Final = Action(
    "Work on the large tensor in chunks, or in half precision",
    before="y = f(x)",
    after="for part, into in zip(x.split(n), y.split(n)):\n    into.copy_(f(part))",
    page="activation-checkpointing",
)


def check(s: Signals, limits: Limits) -> Iterator[Draft]:
    """Compare what lives briefly with the peak, and against the peak without it."""
    found = s(brief)
    if found is None or found.bytes < max(limits["min_share"] * found.peak, limits["min_bytes"]):
        return
    saved = found.peak - found.without
    if saved < limits["min_saved"] * found.peak:
        return
    rest = s.maybe(makeup)
    among = said(" The whole: {by_purpose}.", by_purpose=rest.by_purpose()) if rest is not None else ""
    yield Draft(
        title="Short-lived temporaries set the peak",
        summary=said(
            "{bytes} of the {peak} at the peak ({share}) live for a few operators only: {lines}. Without "
            "any of them the peak is {without}.{among}",
            bytes=quantity(found.bytes, "bytes"), peak=quantity(found.peak, "bytes"),
            share=percent(found.bytes / found.peak), lines=listing(line.text for line in found.lines[:5]),
            without=quantity(found.without, "bytes"), among=among,
        ),
        actions=(_IN_PLACE, _CHUNKS),
        confidence=0.8,
        rows=({"table": "memory_spikes", "where": {"device": rest.device if rest is not None else 0}},),
        numbers={"bytes": found.bytes, "without": found.without, **limits},
    )  # fmt: skip


RULE = Rule(
    "MEM016",
    "memory-spikes",
    thresholds=(
        Threshold("min_share", 0.25, "share", "The last layers of a forward pass have up to an eighth at its end."),
        Threshold("min_saved", 0.15, "share", "Less is not worth writing code in place for."),
        Threshold("min_bytes", 2**28, "bytes", "A few hundred MiB fit any device."),
    ),
    check=check,
    symptom_of=("MEM010", "MEM013"),
)
