"""Attention runs as products and a softmax.

## What it finds
Attention that is written out as a matrix product, scaling, mask, softmax and another product, forward and backward,
where one fused operator would serve.

## Why it matters
Between the two products stands the matrix of scores, with one number per pair of tokens and head. Every operation reads
and writes all of it. A fused operator keeps it in the device's fast memory and needs no more memory than its inputs.

## How it decides
On each queue it looks for a product, then only scaling, masks, casts and dropout, a softmax (an operator, or written
out as maximum, difference, exponential, sum and quotient), the like, and a product. Recorded shapes must fit: the first
product's result is as large as what the softmax is of. Where shapes are not recorded, the products must be of a batch.
What fusing would save must reach `min_share` of the step. The fused operator's time is the larger of its arithmetic at
half of the device's peak (FlashAttention-2 reports 50 % to 73 % on A100) and of reading and writing its operands once;
that of its backward is 2.5 times as long. Where sizes or device are not known, the products' own time remains.

## What to try
`torch.nn.functional.scaled_dot_product_attention`, which takes FlashAttention where type and device allow it; on Ascend
`torch_npu.npu_fusion_attention`.

## Known limits
Whether the scores are used elsewhere (attention weights as an output) can't be seen. Softmax backwards count only where
a forward of the same size was found.
"""

from __future__ import annotations

from collections.abc import Iterator

from stepscope.rules.finding import Action
from stepscope.rules.kernels.fusing import MIN_SHARE, fused
from stepscope.rules.rule import Draft, Limits, Rule
from stepscope.signals import Signals
from stepscope.signals.kernels.attention import unfused
from stepscope.signals.shared.job import platform

_BEFORE = "scores = q @ k.transpose(-2, -1) / math.sqrt(q.size(-1)) + mask\nout = torch.softmax(scores, dim=-1) @ v"
_SDPA = Action(
    "Compute attention with one fused operator",
    before=_BEFORE,
    after="out = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)",
    page="flash-attention",
)
_NPU = Action(
    "Compute attention with one fused operator",
    before=_BEFORE,
    after='out = torch_npu.npu_fusion_attention(q, k, v, head_num=heads, input_layout="BNSD",\n'
    "                                     scale=1 / math.sqrt(q.size(-1)), atten_mask=mask)[0]",
    page="flash-attention",
)
_LIBRARY = Action(
    "If the model is from a library, ask it for a fused implementation",
    before="AutoModelForCausalLM.from_pretrained(name)",
    after='AutoModelForCausalLM.from_pretrained(name, attn_implementation="sdpa")',
    page="flash-attention",
)


def check(s: Signals, limits: Limits) -> Iterator[Draft]:
    """Hold what fusing would save against the step."""
    first = _NPU if s(platform) == "npu" else _SDPA
    yield from fused(s, limits, unfused, ("Attention is not fused", "attention"), (first, _LIBRARY))


RULE = Rule("KRN008", "unfused-attention", thresholds=(MIN_SHARE,), check=check)
