"""Autocast keeps copies of all weights in inference.

## What it finds
Half-precision copies of fp32 weights that autocast makes at first use and keeps for the length of its region.

## Why it matters
In training the copies are needed, and pay. In inference they come on top of the fp32 weights, and are made again in
every region: a model in half precision needs a third of it.

## How it decides
In the history of a memory snapshot without a backward pass, blocks that are in use at the peak are freed by
autocast's own exit: its cache of weights. They must reach `min_share` of the peak and number at least `min_blocks`.

## What to try
Convert the model once: `model.to(torch.bfloat16)`, without autocast around it. If some layers need fp32, switch the
cache off: `torch.autocast(..., cache_enabled=False)`.

## Known limits
Needs the stacks of frees, as PyTorch records by default.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from stepscope.language import listing, said
from stepscope.model.amounts import percent, quantity
from stepscope.rules.finding import Action
from stepscope.rules.rule import Draft, Limits, Rule, Threshold
from stepscope.signals import Signals
from stepscope.signals.snapshots.peak_makeup import trains
from stepscope.signals.snapshots.peak_parts import weight_copies

_CONVERT: Final = Action(
    "Convert the model itself for inference",
    before="with torch.autocast(device_type, dtype=torch.bfloat16):\n    output = model(batch)",
    after="model = model.to(torch.bfloat16)   # once, after loading\noutput = model(batch.to(torch.bfloat16))",
    page="amp",
)
_UNCACHED: Final = Action(
    "Or do not keep the copies, at the cost of making each anew",
    before="torch.autocast(device_type, dtype=torch.bfloat16)",
    after="torch.autocast(device_type, dtype=torch.bfloat16, cache_enabled=False)",
    page="amp",
)


def check(s: Signals, limits: Limits) -> Iterator[Draft]:
    """Compare the copies with the peak."""
    found, trained = s(weight_copies), s(trains)
    if trained or found is None or found.count < limits["min_blocks"]:
        return
    if found.bytes < limits["min_share"] * found.peak:
        return
    lines = listing(line.text for line in found.lines[:4])
    yield Draft(
        title="Autocast keeps copies of the weights through inference",
        summary=said(
            "{bytes} of the {peak} at the peak ({share}), {count:,} blocks, are copies of weights cast "
            "for autocast, made at {lines}, and freed where its region ends. Without them the peak is "
            "{without}.",
            bytes=quantity(found.bytes, "bytes"), peak=quantity(found.peak, "bytes"),
            share=percent(found.bytes / found.peak), count=found.count, lines=lines,
            without=quantity(found.without, "bytes"),
        ),
        actions=(_CONVERT, _UNCACHED),
        confidence=0.9,
        rows=({"table": "memory_peak_stacks", "where": {"by": "line"}},),
        numbers={"bytes": found.bytes, "blocks": found.count, **limits},
    )  # fmt: skip


RULE = Rule(
    "MEM015",
    "weight-copies",
    thresholds=(
        Threshold("min_share", 0.1, "share", "A tenth of the peak is worth one line."),
        Threshold("min_blocks", 8, "count", "Fewer are no model's weights."),
    ),
    check=check,
)
