"""Kernels only convert tensors to another layout.

## What it finds
Kernels that do nothing but reorder dimensions for one operator: conversions between NCHW and NHWC around convolutions
(cuDNN, MIOpen).

## Why it matters
They read and write whole activations and compute nothing. If tensors had the operator's layout, they would not run.

## How it decides
The kernels that are known to do so by their names must take `min_share` of the step, in a program that has
convolutions. The price is the step without them.

## What to try
`memory_format=torch.channels_last` for model and input.

## Known limits
Some conversions go away only if every operator between two convolutions knows the layout. Kernels that convert and
compute are not counted. On Ascend, ASC012 speaks of conversions between formats.
"""

from __future__ import annotations

from collections.abc import Iterator

from stepscope.language import said
from stepscope.model.amounts import duration, percent, plural
from stepscope.model.events.change import Change, Scaled
from stepscope.rules.finding import Action
from stepscope.rules.rule import Draft, Limits, Rule, Threshold
from stepscope.rules.wording import torch_device
from stepscope.signals import Signals
from stepscope.signals.kernels.layouts import conversions
from stepscope.signals.shared.job import per_step, platform, recorded_steps
from stepscope.signals.shared.step_columns import longest


def check(s: Signals, limits: Limits) -> Iterator[Draft]:
    """Compare the time of conversions with the step."""
    if s(platform) == "npu":  # formats of Ascend's own have a rule of their own
        return
    found = s(conversions)
    if not found.convolutions or found.of_step < limits["min_share"]:
        return
    steps = s(recorded_steps)
    number = max(found.event.size // steps, 1)
    yield Draft(
        title="Kernels only convert tensor layouts",
        summary=said(
            "{kernels} per step only {en_converts} the layout of tensors: {per_step} per step ({of_step}).",
            kernels=plural(number, "kernel"), en_converts="converts" if number == 1 else "convert",
            per_step=duration(per_step(s, found.dur.sum())), of_step=percent(found.of_step),
        ),
        actions=(_channels_last(torch_device(s(platform))),),
        change=Change(device=(Scaled(found.event, 0.0),), host=(Scaled(found.launches, 0.0),)),
        events=longest(found.event, found.dur),
        rows=({"table": "kernels", "where": {"name": found.name}},),
        numbers={f"{conversions.name}.of_step": round(found.of_step, 4), "min_share": limits["min_share"]},
    )  # fmt: skip


def _channels_last(where: str) -> Action:
    return Action(
        "Keep model and input in the layout that convolutions want",
        before=f'model = model.to("{where}")\nx = x.to("{where}", non_blocking=True)',
        after=f'model = model.to("{where}", memory_format=torch.channels_last)\n'
        f'x = x.to("{where}", memory_format=torch.channels_last, non_blocking=True)',
        page="channels-last",
    )


RULE = Rule(
    "KRN007",
    "layout-changes",
    thresholds=(Threshold("min_share", 0.01, "share", "What costs less than 1 % of the step is not shown."),),
    check=check,
)
