"""Matrix sizes are not aligned for tensor cores.

## What it finds
Matrix multiplications in TF32, 16 bits or less whose rows are no multiples of 16 bytes: a vocabulary of 50,257, a layer
of 1,001 outputs.

## Why it matters
Tensor-core kernels load 16 bytes and more at a time. For unaligned rows libraries use kernels that load single
elements, or kernels without tensor cores.

## How it decides
From the recorded shapes and strides: the distance between rows of both operands and of the result. Where aligned GEMMs
with comparable FLOPs were recorded, the unaligned ones must be slower by `min_slower`, padding included, and the saving
must reach `min_share` of the step. Where there are none to compare with, they must take `min_alone` of the step, and
the finding has no price.

## What to try
Pad the size to a multiple of 64 (at least 8 in 16 bits): the vocabulary, the number of classes, the width of a head.

## Known limits
Without recorded strides the last dimension is assumed to be the length of a row.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from stepscope.language import said
from stepscope.model.amounts import duration, percent
from stepscope.model.events.change import Change, scaled_each
from stepscope.rules.finding import Action
from stepscope.rules.rule import Draft, Limits, Rule, Threshold
from stepscope.signals import Signals
from stepscope.signals.kernels.shapes import ROW_BYTES, Unaligned, unaligned
from stepscope.signals.shared.job import per_step, step_share
from stepscope.signals.shared.step_columns import longest

_PAD = Action(
    "Pad the size to a multiple of 64",
    before="nn.Linear(hidden, 50257)",
    after="nn.Linear(hidden, 50304)   # rows that no token uses",
    page="tensor-shapes",
)
_TOKENS = Action(
    "Use a fused attention operator, which never writes the scores; or pad the tokens to a multiple of 8",
    before="scores = q @ k.transpose(-2, -1)   # 3,137 tokens",
    after="out = F.scaled_dot_product_attention(q, k, v)",
    page="flash-attention",
)
_BATCHED = Action("Pad the size to a multiple of 8 in 16 bits, and mask the padding", page="tensor-shapes")


def check(s: Signals, limits: Limits) -> Iterator[Draft]:
    """Compare unaligned GEMMs with aligned ones."""
    found = s(unaligned)
    slower = found.factor <= 1 - limits["min_slower"]
    saved = step_share(s, (found.dur * (1 - np.where(slower, found.factor, 1.0))).sum())
    alone = np.isnan(found.factor)
    if slower.any() and saved >= limits["min_share"]:
        change = Change(device=scaled_each(found.event[slower], found.factor[slower]))
        how = said("aligned ones of about their size take {mean} of that", mean=percent(_mean(found, slower), 0))
        yield _draft(s, limits, found, slower, change, how)
    elif alone.any() and step_share(s, found.dur[alone].sum()) >= limits["min_alone"]:
        yield _draft(s, limits, found, alone, None, said("longer than aligned ones would"))


def _mean(found: Unaligned, mine: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> float:
    return float((found.dur * found.factor)[mine].sum() / found.dur[mine].sum())


def _draft(
    s: Signals, limits: Limits, found: Unaligned, mine: np.ndarray[tuple[int], np.dtype[np.bool_]],
    change: Change | None, how: str,
) -> Draft:  # fmt: skip
    sizes = found.sizes
    which = (
        said(" (for example {m:,} x {k:,} by {k:,} x {n:,})", m=sizes.m, k=sizes.k, n=sizes.n)
        if sizes is not None
        else ""
    )
    dur = found.dur[mine]
    return Draft(
        title="Matrix sizes are not aligned",
        summary=said(
            "Matrix multiplications whose rows are no multiples of {row_bytes} bytes{which} take "
            "{per_step} per step, {how}.",
            row_bytes=ROW_BYTES, which=which, per_step=duration(per_step(s, dur.sum())), how=how,
        ),
        # In batched GEMMs, as in attention, the unaligned size is not that of a weight.
        actions=(_PAD,) if sizes is None or sizes.batch == 1 else (_TOKENS, _BATCHED),
        change=change,
        confidence=0.8 if change is not None else 0.5,
        events=longest(found.event[mine], dur),
        rows=({"table": "roofline_shapes", "where": {"op_class": "gemm"}},),
        numbers={f"{unaligned.name}.of_step": round(found.of_step, 4), **limits},
    )  # fmt: skip


RULE = Rule(
    "KRN003",
    "unaligned-dimensions",
    thresholds=(
        Threshold("min_slower", 0.15, "share", "Rates of equally good GEMMs differ by less."),
        Threshold("min_share", 0.01, "share", "What costs less than 1 % of the step is not shown."),
        Threshold("min_alone", 0.05, "share", "Without a price, only a good part of the step is worth advice."),
    ),
    check=check,
    symptom_of=("KRN008",),
)
