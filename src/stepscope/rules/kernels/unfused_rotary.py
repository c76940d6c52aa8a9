"""Rotary embedding runs as separate operations.

## What it finds
Rotary position embedding made of separate operators: multiplications by cosine and sine, negation and concatenation of
halves, sums.

## Why it matters
It is applied to queries and keys of every layer and is bound by memory; written out, it moves about five times the
bytes that one operator does.

## How it decides
On each stream it looks for a negation, a concatenation, multiplications and a sum, where what is negated is half of the
result; or for two multiplications and their difference and two multiplications and their sum on equally many elements.
What fusing would save must reach `min_share` of the step; the fused operator is assumed to take as long as the longest
of those that it replaces.

## What to try
`torch.compile` of the function that applies it, or a library's fused form (FlashAttention, Liger, Transformer Engine);
on Ascend `torch_npu.npu_rotary_mul`.

## Known limits
Forms that use complex numbers are one multiplication and two copies, and are not found. Any complex multiplication that
is written out in real numbers looks like a rotation.
"""

from __future__ import annotations

from collections.abc import Iterator

from stepscope.language import said
from stepscope.rules.finding import Action
from stepscope.rules.rule import Draft, Limits, Rule
from stepscope.rules.shared.fusing import MIN_SHARE, fused
from stepscope.signals import Signals
from stepscope.signals.kernels.fusions import rotary
from stepscope.signals.shared.job import platform

_BEFORE = "q = q * cos + rotate_half(q) * sin"
_TORCH = Action(
    "Compile the function that applies it",
    before=_BEFORE,
    after="@torch.compile\ndef apply_rotary(q, k, cos, sin):\n"
    "    return q * cos + rotate_half(q) * sin, k * cos + rotate_half(k) * sin",
    page="torch-compile",
)
_LIBRARY = Action(
    "Or take a fused form from a library",
    before=_BEFORE,
    after="from flash_attn.layers.rotary import apply_rotary_emb\nq = apply_rotary_emb(q, cos, sin)",
    page="fused-kernels",
)
_NPU = Action(
    "Rotate with one operator",
    before=_BEFORE,
    after="q = torch_npu.npu_rotary_mul(q, cos, sin)",
    page="fused-kernels",
)


def check(s: Signals, limits: Limits) -> Iterator[Draft]:
    """Compare what fusing would save with the step."""
    actions = {"npu": (_NPU,), "cuda": (_TORCH, _LIBRARY), "rocm": (_TORCH, _LIBRARY)}.get(s(platform), (_TORCH,))
    yield from fused(s, limits, rotary, (said("Rotary embedding is not fused"), said("a rotary embedding")), actions)


RULE = Rule("KRN011", "unfused-rotary", thresholds=(MIN_SHARE,), check=check)
