"""TF32 is off: matrix multiplications in fp32 run without tensor cores.

## What it finds
Matrix multiplications (and convolutions, if none of them uses TF32) in fp32 without tensor cores, on an NVIDIA device
that has TF32.

## Why it matters
TF32 rounds the operands to 10 bits of mantissa, multiplies on tensor cores and sums in fp32: 156 instead of 19.5
TFLOP/s on A100. PyTorch has it off for matrix multiplications since 1.12, and on for convolutions.

## How it decides
Such kernels must take `min_share` of the step. The price scales each by its roofline time (the larger of FLOPs / peak
and bytes / bandwidth); kernels of unknown size take a third.

## What to try
`torch.set_float32_matmul_precision("high")`, once, before training.

## Known limits
Results that need the 23 bits of fp32 should stay as they are. Where most of the model is in fp32, mixed precision gains
more (KRN001).
"""

from __future__ import annotations

from collections.abc import Iterator

from stepscope.language import said
from stepscope.model.amounts import duration, percent
from stepscope.model.events.change import Change, scaled_each
from stepscope.rules.finding import Action
from stepscope.rules.rule import Draft, Limits, Rule, Threshold
from stepscope.signals import Signals
from stepscope.signals.kernels.precision import in_tf32
from stepscope.signals.shared.job import per_step, platform

_ON = Action(
    "Multiply fp32 on tensor cores as TF32",
    before="torch.backends.cuda.matmul.allow_tf32   # False",
    after='torch.set_float32_matmul_precision("high")\ntorch.backends.cudnn.allow_tf32 = True',
    page="amp",
)


def check(s: Signals, limits: Limits) -> Iterator[Draft]:
    """Compare the time of such kernels with the step."""
    if s(platform) != "cuda":
        return
    found = s(in_tf32)
    if not found.event.size or found.of_step < limits["min_share"]:
        return
    yield Draft(
        title="TF32 is off",
        summary=said(
            "Matrix multiplications in fp32 take {per_step} per step ({of_step}) without tensor cores; as "
            "TF32 they would take about {per_step_2}.",
            per_step=duration(per_step(s, found.dur.sum())), of_step=percent(found.of_step),
            per_step_2=duration(per_step(s, (found.dur * found.factor).sum())),
        ),
        actions=(_ON,),
        change=Change(device=scaled_each(found.event, found.factor)),
        events=found.longest,
        rows=({"table": "tensor_cores", "where": {"dtype": "fp32"}},),
        numbers={f"{in_tf32.name}.of_step": round(found.of_step, 4), "min_share": limits["min_share"]},
    )  # fmt: skip


RULE = Rule(
    "KRN002",
    "tf32-off",
    thresholds=(
        Threshold(
            "min_share",
            0.02,
            "share",
            "The remedy is one line but changes numbers; PyTorch's FP32MatMul rule has none.",
        ),
    ),
    check=check,
    symptom_of=("KRN001",),
)
