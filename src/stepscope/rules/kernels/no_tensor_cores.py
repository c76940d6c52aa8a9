"""Matrix multiplications run without tensor cores, in fp32.

## What it finds
Matrix multiplications, attention and convolutions in fp32 on a device whose tensor cores (AMD: matrix cores; Ascend:
cube units) compute them many times as fast in bf16 or fp16.

## Why it matters
Most of a device's arithmetic is in its tensor cores: 312 TFLOP/s in 16 bits on A100, compared with 19.5 TFLOP/s in
fp32.

## How it decides
At least `min_unused` of the time of all kernels that could use tensor cores must be in fp32, without tensor cores or at
the rate of fp32, and these must take `min_share` of the step. Convolutions that round their operands (TF32, HF32) count
too: PyTorch's default, at half the rate of 16 bits. The price scales each kernel by its roofline time, the larger of
FLOPs / peak and bytes / bandwidth, with the peak of the narrower type and half the bytes. Where sizes or the device's
peaks are unknown, a kernel takes a third of its time, or half if it is rounded already. In convolutional networks
pointwise operations and batch normalisation follow in type and take half; elsewhere they are not counted.

## What to try
Automatic mixed precision in training; bf16 needs no loss scaling. A model that only infers is loaded in 16 bits. Where
numbers must stay fp32, TF32 on NVIDIA devices since Ampere.

## Known limits
Only a run shows whether the model tolerates 16 bits. Kernels whose names do not show the units they use do not count.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from stepscope.language import said
from stepscope.model.amounts import duration, percent
from stepscope.model.events.change import Change, Scaled, scaled_each
from stepscope.rules import native
from stepscope.rules.finding import Action
from stepscope.rules.rule import Draft, Limits, Rule, Threshold
from stepscope.rules.wording import tensor_cores, torch_device
from stepscope.signals import Signals
from stepscope.signals.kernels.precision import in_sixteen_bits
from stepscope.signals.shared.job import device, infers, per_step, platform
from stepscope.signals.shared.program import program

_TF32 = Action(
    "Or multiply fp32 on tensor cores as TF32",
    before="model = Model()",
    after='torch.set_float32_matmul_precision("high")\nmodel = Model()',
    page="amp",
)
#: By the class that takes most of the time.
_SUBJECTS: Final = {
    "gemm": said("Matrix multiplications run"),
    "convolution": said("Convolutions run"),
    "attention": said("Attention runs"),
}
#: Vendors whose units multiply fp32 as well, more slowly than 16 bits.
_WIDE_UNITS: Final = ("rocm", "npu", "xpu")
#: TF32 is NVIDIA's type, HF32 Ascend's.
_ROUNDED = said(" or rounded from it (TF32, HF32)")


def check(s: Signals, limits: Limits) -> Iterator[Draft]:
    """Compare the time of fp32 kernels with that of all that could use tensor cores, and with the step."""
    found = s(in_sixteen_bits)
    if not found.event.size or found.of_eligible < limits["min_unused"] or found.of_step < limits["min_share"]:
        return
    known = s(device)
    # On GeForce cards TF32 peaks no higher than fp32.
    tf32 = known is not None and known.vendor == "nvidia" and known.matrix.get("tf32", 0) > known.vector.get("fp32", 0)
    taken, beside = per_step(s, found.dur.sum()), per_step(s, found.followers_ns)
    with_them = (
        said(
            " The {beside} of pointwise operations and normalisation in fp32 follow in type, and take half.",
            beside=duration(beside),
        )
        if beside
        else ""
    )
    where, after = s(platform), per_step(s, (found.dur * found.factor).sum())
    # Rounded operands do go through these units, at half their rate.
    how = (
        said("in fp32")
        if where in _WIDE_UNITS
        else said("in fp32 or TF32")
        if found.rounded
        else said("without tensor cores")
    )
    yield Draft(
        title=said("{what_runs} {how}", what_runs=_SUBJECTS[found.classes[0]], how=how),
        summary=said(
            "{of_eligible} of the time of matrix multiplications, attention and convolutions, {taken} per "
            "step, is in fp32{rounded}; in {dtype} on {tensor_cores} it would be about "
            "{after}.{with_them}",
            of_eligible=percent(found.of_eligible), taken=duration(taken), rounded=_ROUNDED if found.rounded else "",
            dtype=found.dtype, tensor_cores=tensor_cores(where), after=duration(after), with_them=with_them,
        ),
        actions=(_narrower(s, found.dtype), *((_TF32,) if tf32 else ())),
        change=Change(device=(*scaled_each(found.event, found.factor), Scaled(found.followers, 0.5))),
        events=found.longest,
        rows=({"table": "tensor_cores", "where": {"dtype": "fp32"}},),
        numbers={
            f"{in_sixteen_bits.name}.of_eligible": round(found.of_eligible, 4),
            f"{in_sixteen_bits.name}.of_step": round(found.of_step, 4),
            "min_unused": limits["min_unused"],
            "min_share": limits["min_share"],
        },
    )  # fmt: skip


def _narrower(s: Signals, dtype: str) -> Action:
    if s.maybe(infers):
        long = {"bf16": "bfloat16", "fp16": "float16"}[dtype]
        return Action(
            said("Load the model in {long}", long=long),
            before="model = Model.from_pretrained(name)",
            after=f"model = Model.from_pretrained(name).to(torch.{long})",
            page="amp",
        )
    where = torch_device(s(platform))
    told = s.maybe(program)
    return _amp(where, dtype) if told is None or told.trains else _autocast(where, dtype)


def _autocast(where: str, dtype: str) -> Action:
    """Where nothing shows that the program trains, nor that it doesn't."""
    long = {"bf16": "bfloat16", "fp16": "float16"}[dtype]
    return Action(
        "Use automatic mixed precision",
        before="y = model(x)",
        after=f'with torch.autocast("{where}", dtype=torch.{long}):\n    y = model(x)   # in training the loss, too',
        page="amp",
    )


def _amp(where: str, dtype: str) -> Action:
    before = "loss = loss_fn(model(x), y)\nloss.backward()\noptimizer.step()"
    if dtype == "bf16":
        after = (
            f'with torch.autocast("{where}", dtype=torch.bfloat16):\n    loss = loss_fn(model(x), y)\n'
            "loss.backward()\noptimizer.step()"
        )
    else:
        after = (
            f'scaler = torch.amp.GradScaler("{where}")\nwith torch.autocast("{where}", dtype=torch.float16):\n'
            "    loss = loss_fn(model(x), y)\nscaler.scale(loss).backward()\nscaler.step(optimizer)\nscaler.update()"
        )
    return Action("Use automatic mixed precision", before=before, after=after, page="amp")


RULE = Rule(
    "KRN001",
    "no-tensor-cores",
    thresholds=(
        Threshold(
            "min_unused",
            0.5,
            "share",
            "Mixed precision leaves some GEMMs in fp32 on purpose; torch-tb-profiler reports it only if all are.",
        ),
        Threshold(
            "min_share", 0.05, "share", "The remedy changes numerical results, which a smaller gain does not justify."
        ),
    ),
    check=check,
    elsewhere=native.MULTIPLYING,
)
