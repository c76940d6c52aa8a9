"""A matrix multiplication runs at a lower rate than others of its size.

## What it finds
Large GEMMs of one size that reach fewer FLOP/s than others of about their size, in the same type and recording.

## Why it matters
Libraries choose among many kernels by heuristics. Where GEMMs of similar size run at a higher rate, the device allows
it, and the choice for this size is a poor one.

## How it decides
GEMMs with M, N and K of at least 512 whose FLOPs differ by no more than a factor of 8. One with fewer tiles of 128 x
128 than the device has SMs or CUs is compared with the part of the peak that it can fill. It must be slower than the
others, all of their time taken together, by `min_slower`, and their rate must save `min_share` of the step; that is the
price.

## What to try
Let the library tune its choice for the size (TunableOp, hipBLASLt, `max-autotune`); pad the size; update the library.

## Known limits
Sizes with a nearly empty last wave are slower by nature (KRN005). Shapes must be recorded.
"""

from __future__ import annotations

from collections.abc import Iterator

from stepscope.language import said
from stepscope.model.amounts import duration, percent, quantity
from stepscope.model.events.change import Change, Scaled
from stepscope.rules.kernel_advice import advice
from stepscope.rules.rule import Draft, Limits, Rule, Threshold
from stepscope.signals import Signals
from stepscope.signals.kernels.likes import Slower, uneven
from stepscope.signals.shared.job import recorded_steps
from stepscope.signals.shared.program import program


def check(s: Signals, limits: Limits) -> Iterator[Draft]:
    """Compare each large GEMM with the others."""
    slower = [one for one in s(uneven) if one.factor <= 1 - limits["min_slower"]]
    if not slower or sum(one.saved for one in slower) < limits["min_share"]:
        return
    worst, steps = slower[0], s(recorded_steps)
    yield Draft(
        title="A matrix multiplication is slower than others of its size",
        summary=said(
            "Matrix multiplications of {sizes} take {total} per step ({share}) at {rate}, where others of "
            "about that size reach {like}{against}.",
            sizes=_sizes(worst), total=duration(worst.kernel.total_ns // steps), share=percent(worst.kernel.share),
            rate=quantity(worst.rate, "FLOP/s"), like=quantity(worst.like, "FLOP/s"), against=_against(worst),
        ),
        actions=advice("gemm", (worst.kernel.name,), s(program)),
        change=Change(device=tuple(Scaled(one.kernel.events, round(one.factor, 3)) for one in slower)),
        confidence=0.6,
        events=worst.kernel.events[:20],
        rows=({"table": "roofline_shapes", "where": {"shapes": worst.kernel.shapes}},),
        numbers={f"{uneven.name}.saved": round(sum(one.saved for one in slower), 4), **limits},
    )  # fmt: skip


def _sizes(one: Slower) -> str:
    batch = said("{batch:,} times ", batch=one.sizes.batch) if one.sizes.batch > 1 else ""
    return said("{batch}{m:,} x {k:,} by {k:,} x {n:,}", batch=batch, m=one.sizes.m, k=one.sizes.k, n=one.sizes.n)


def _against(one: Slower) -> str:
    if one.kernel.efficiency is None:
        return ""
    own, others = (percent(part, 0) for part in (one.kernel.efficiency, one.kernel.efficiency / one.factor))
    return said(": {own} and {others} of what the device allows", own=own, others=others)


RULE = Rule(
    "KRN017",
    "slower-than-like",
    thresholds=(
        Threshold("min_slower", 0.15, "share", "Rates of equally good GEMMs differ by less."),
        Threshold("min_share", 0.02, "share", "The remedy is not known beforehand, so that it must promise something."),
    ),
    check=check,
    symptom_of=("KRN001", "KRN003", "KRN005", "KRN006"),
)
