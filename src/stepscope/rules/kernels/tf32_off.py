"""Products in fp32 don't use TF32.

## What it finds
Matrix products (and convolutions, if none of them uses it) in fp32 on ordinary units of an NVIDIA device that has TF32.

## Why it matters
TF32 rounds the factors to 10 bits of mantissa, multiplies on tensor cores and sums in fp32: on A100 156 in place of
19.5 TFLOP/s. PyTorch has it off for products since 1.12, and on for convolutions.

## How it decides
Such products must take `min_share` of the step. The price assumes that each takes as much less as its least time
becomes shorter (the larger of FLOPs / peak and bytes / bandwidth); products of unknown size become a third.

## What to try
`torch.set_float32_matmul_precision("high")`, once, before training.

## Known limits
Products that must be exact to 23 bits should stay as they are. Where most of the model is in fp32, mixed precision
gains more (KRN001).
"""

from __future__ import annotations

from collections.abc import Iterator

from stepscope.model.amounts import duration, percent
from stepscope.model.events.change import Change, scaled_each
from stepscope.rules.finding import Action
from stepscope.rules.rule import Draft, Limits, Rule, Threshold
from stepscope.signals import Signals
from stepscope.signals.kernels.precision import in_tf32
from stepscope.signals.shared.job import platform, recorded_steps

_ON = Action(
    "Let matrix units multiply fp32 as TF32",
    before="torch.backends.cuda.matmul.allow_tf32   # False",
    after='torch.set_float32_matmul_precision("high")\ntorch.backends.cudnn.allow_tf32 = True',
    page="amp",
)


def check(s: Signals, limits: Limits) -> Iterator[Draft]:
    """Hold the time of such products against the step."""
    if s(platform) != "cuda":
        return
    found = s(in_tf32)
    if not found.event.size or found.of_step < limits["min_share"]:
        return
    steps = s(recorded_steps)
    yield Draft(
        title="TF32 is off",
        summary=f"Products in fp32 take {duration(int(found.dur.sum()) // steps)} per step ({percent(found.of_step)}) "
        f"on ordinary units; as TF32 they would take about {duration(int((found.dur * found.factor).sum()) // steps)}.",
        actions=(_ON,),
        change=Change(device=scaled_each(found.event, found.factor)),
        events=found.longest,
        rows=({"table": "tensor_cores", "where": {"dtype": "fp32"}},),
        numbers={f"{in_tf32.name}.of_step": round(found.of_step, 4), "min_share": limits["min_share"]},
    )


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
