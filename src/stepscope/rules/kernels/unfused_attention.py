"""Attention runs as separate matrix multiplications and a softmax.

## What it finds
Attention that runs as a matrix multiplication, scaling, mask, softmax and a second matrix multiplication, forward and
backward, where one fused operator would serve.

## Why it matters
Every operation reads and writes the whole score matrix, with one number per pair of tokens and head. A fused operator
keeps it in the device's fast memory and needs no more memory than its inputs.

## How it decides
On each stream it looks for a GEMM, then only scaling, masks, casts and dropout, a softmax (an operator, or maximum,
difference, exponential, sum and quotient), more of these, and a GEMM. Recorded shapes must fit: the first GEMM's result
is as large as the softmax's input. Where shapes are not recorded, the GEMMs must be batched.
What fusing would save must reach `min_share` of the step. The fused operator's time is the larger of its arithmetic at
half of the device's peak (FlashAttention-2 reports 50 % to 73 % on A100) and of reading and writing its operands once;
that of its backward is 2.5 times as long. Where sizes or device are not known, the GEMMs' own time remains.

## What to try
`torch.nn.functional.scaled_dot_product_attention`, which takes FlashAttention where type and device allow it; on Ascend
`torch_npu.npu_fusion_attention`.

## Known limits
Recordings do not show whether the scores are used elsewhere (attention weights as an output). Softmax backwards count
only where a forward of the same size was found.
"""

from __future__ import annotations

from collections.abc import Iterator

from stepscope.language import said
from stepscope.rules.finding import Action
from stepscope.rules.rule import Draft, Limits, Rule
from stepscope.rules.shared.fusing import MIN_SHARE, fused
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
    """Compare what fusing would save with the step."""
    first = _NPU if s(platform) == "npu" else _SDPA
    yield from fused(s, limits, unfused, (said("Attention is not fused"), "attention"), (first, _LIBRARY))


RULE = Rule("KRN008", "unfused-attention", thresholds=(MIN_SHARE,), check=check)
