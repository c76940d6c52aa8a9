"""Attention runs on FlashAttention-2 kernels on Hopper.

## What it finds
Long launches of FlashAttention-2 on Hopper (H100, H200, GH200).

## Why it matters
FlashAttention-2 was written for Ampere: on Hopper it comes to about a third of the peak, since it uses neither the
asynchronous copies nor the matrix instructions of warp groups.

## How it decides
By names of kernels and the recorded compute capability, or names of kernels that run on Hopper alone. Launches of 100
µs and more must take `min_share` of the step. The price assumes the lower end of FlashAttention-3's speed-up: 1.5
times, forward and backward (Shah et al., "FlashAttention-3", 2024: 1.5 to 2.0 times forward, 1.5 to 1.75 times
backward).

## What to try
cuDNN's attention, which PyTorch has as a backend, or FlashAttention-3.

## Known limits
Heads of more than 256 and some masks have no such kernel. Which of several devices is a Hopper is not looked at.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from stepscope.language import said
from stepscope.model.amounts import duration, percent
from stepscope.model.events.change import Change, Scaled
from stepscope.rules.finding import Action
from stepscope.rules.rule import Draft, Limits, Rule, Threshold
from stepscope.signals import Signals
from stepscope.signals.kernels.older_kernels import older_attention
from stepscope.signals.shared.job import per_step

#: What remains at the lower end of what FlashAttention-3 reports.
_REMAINS: Final = 1 / 1.5
_THIRD: Final = Action(
    "Take FlashAttention-3",
    before="from flash_attn import flash_attn_func",
    after="from flash_attn_interface import flash_attn_func   # the folder `hopper` of flash-attention",
    page="flash-attention",
)
_CUDNN: Final = Action(
    "Or PyTorch's operator with cuDNN's attention",
    before="F.scaled_dot_product_attention(q, k, v)",
    after="with torch.nn.attention.sdpa_kernel(SDPBackend.CUDNN_ATTENTION):\n"
    "    F.scaled_dot_product_attention(q, k, v)",
    page="flash-attention",
)


def check(s: Signals, limits: Limits) -> Iterator[Draft]:
    """Compare the time of such launches with the step."""
    found = s(older_attention)
    if not found.events.size or found.share < limits["min_share"]:
        return
    yield Draft(
        title="Attention runs on FlashAttention-2 kernels on Hopper",
        summary=said(
            "FlashAttention-2 takes {per_step} per step ({share}); FlashAttention-3, made for Hopper, is "
            "at least 1.5 times as fast.",
            per_step=duration(per_step(s, found.total_ns)), share=percent(found.share),
        ),
        actions=(_THIRD, _CUDNN),
        change=Change(device=(Scaled(found.events, _REMAINS),)),
        confidence=0.7,
        events=found.events[:20],
        rows=({"table": "kernel_classes", "where": {"name": "attention"}},),
        numbers={f"{older_attention.name}.share": round(found.share, 4), **limits},
    )  # fmt: skip


RULE = Rule(
    "KRN018",
    "older-attention",
    thresholds=(Threshold("min_share", 0.05, "share", "Another library is a change that must promise something."),),
    check=check,
)
