"""Kernels convert tensors between memory formats.

## What it finds
`TransData` kernels, which turn PyTorch's formats into private ones of the NPU (NC1HWC0, FRACTAL_NZ, FRACTAL_Z) and
back.

## Why it matters
They compute nothing. Convolutions and matrix multiplications of older interfaces want private formats; each such
operator then drags conversions of its inputs and outputs along.

## How it decides
Conversions must take `min_share` of the device's compute time. The price is what the step would save without them.

## What to try
Keep PyTorch's formats throughout, and use compiled operators, which accept them.

## Known limits
For some shapes private formats are faster in spite of the conversions: measure both.
"""

from __future__ import annotations

from collections.abc import Iterator

from stepscope.language import said
from stepscope.model.amounts import duration, percent, plural
from stepscope.model.events.change import Change, Scaled
from stepscope.rules.finding import Action
from stepscope.rules.rule import Draft, Limits, Rule, Threshold
from stepscope.signals import Signals
from stepscope.signals.ascend.npu_kernels import conversions, kernels
from stepscope.signals.ascend.npu_totals import added, operators
from stepscope.signals.shared.step_columns import longest

_KEEP = Action(
    "Keep PyTorch's memory formats",
    before="torch_npu.npu.config.allow_internal_format = True",
    after="torch_npu.npu.config.allow_internal_format = False\ntorch_npu.npu.set_compile_mode(jit_compile=False)",
    page="npu-operators",
)


def check(s: Signals, limits: Limits) -> Iterator[Draft]:
    """Compare the conversions with all kernels."""
    if (found := s.maybe(conversions)) is None:
        yield from _in_totals(s, limits)
        return
    every = s(kernels)
    share = float(found.dur.sum()) / max(float(every.dur.sum()), 1.0)
    if not found.event.size or share < limits["min_share"]:
        return
    yield Draft(
        title="Tensors are converted between memory formats",
        summary=said(
            "{size:,.0f} conversions of formats per step take {ns_per_step} ({share} of the time of all "
            "compute kernels).",
            size=found.event.size / found.steps, ns_per_step=duration(found.ns_per_step), share=percent(share),
        ),
        actions=(_KEEP,),
        change=Change(device=(Scaled(found.event, 0.0),)),
        confidence=0.8,
        events=longest(found.event, found.dur),
        rows=({"table": "kernels", "where": {"name": str(found.name[found.dur.argmax()])}},),
        numbers={"share": share, **limits},
    )  # fmt: skip


def _in_totals(s: Signals, limits: Limits) -> Iterator[Draft]:
    """The same by what the profiler summed up."""
    every = s(operators)
    converting = tuple(one for one in every if one.name == "TransData")
    (number, ns, _), (_, total, _) = added(converting), added(every)
    if not converting or ns < limits["min_share"] * total:
        return
    yield Draft(
        title="Tensors are converted between memory formats",
        summary=said(
            "{conversions} of formats take {ns} ({share} of the time of all compute kernels).",
            conversions=plural(number, "conversion"), ns=duration(ns), share=percent(ns / total),
        ),
        actions=(_KEEP,),
        confidence=0.7,
        rows=({"table": "recorded_totals", "where": {"of": "operators"}},),
        numbers={"share": ns / total, **limits},
    )  # fmt: skip


RULE = Rule(
    "ASC012",
    "format-conversions",
    thresholds=(
        Threshold(
            "min_share", 0.05, "share", "Of the compute time; a few conversions at the edges of a model are normal."
        ),
    ),
    check=check,
)
