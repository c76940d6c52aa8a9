"""Devices of one process take turns.

## What it finds
Two or more devices that one process uses, of which hardly ever two compute at once.

## Why it matters
A model whose layers are spread over devices, and through which one batch goes at a time, is as fast as on one device:
each of n devices is idle for the turns of the others, (n - 1) / n of the time.

## How it decides
In each of the typical steps at least two devices compute, each of them for a tenth of all computing or more. Together
they must compute for `min_any` of the steps, so that turns explain the idle time, and at the same time for at most
`max_overlap` of that: two devices that are busy for half of the time each, whatever the other one does, would for a
third. The idle time of the mean device must reach `min_share`. There is no price: it depends on how finely the work can
be divided.

## What to try
Micro-batches in a pipeline, tensor parallelism, or one device for the whole model if it fits, and each of the others
for batches of its own.

## Known limits
Needs steps. Two models of which each waits for the other's result look the same, and can't always be made to overlap.
"""

from __future__ import annotations

from collections.abc import Iterator

from stepscope.language import said
from stepscope.model.amounts import duration, percent
from stepscope.rules.finding import Action
from stepscope.rules.rule import Draft, Limits, Rule, Threshold
from stepscope.signals import Signals
from stepscope.signals.communication.turns import turns
from stepscope.signals.shared.job import step_ns

_ACTIONS = (
    Action(
        "Where the model fits on one device, keep it whole there, and let each device work on batches of its own",
        page="pipeline-parallelism",
    ),
    Action(
        "Split each batch into parts that follow one another through the devices (a pipeline), so that one works on "
        "the next part while another has this one",
        page="pipeline-parallelism",
    ),
    Action(
        "Split every layer over the devices, so that all of them compute at once (tensor parallelism)",
        page="pipeline-parallelism",
    ),
)


def check(s: Signals, limits: Limits) -> Iterator[Draft]:
    """Compare what the devices compute at once with what they compute."""
    found, length = s(turns), s(step_ns)
    if found is None or found.any_share < limits["min_any"] or found.overlap > limits["max_overlap"]:
        return
    if found.idle_ns < limits["min_share"] * length:
        return
    least, most = percent(min(found.shares)), percent(max(found.shares))
    yield Draft(
        title="The devices take turns",
        summary=said(
            "{devices} devices of one process compute one after the other: each for {least} of the step, "
            "and more than one for {overlap} of the time that any does. Each is idle for {idle} of the "
            "step on average while another one computes.",
            devices=len(found.devices),
            least=least if least == most else said("{least} to {most}", least=least, most=most),
            overlap=percent(found.overlap), idle=duration(found.idle_ns),
        ),
        actions=_ACTIONS,
        taken_ns=min(found.idle_ns, length),
        waiting=True,
        confidence=0.8,
        numbers={"computing": round(found.any_share, 4), "overlap": round(found.overlap, 4), **limits},
    )  # fmt: skip


RULE = Rule(
    "CLU008",
    "taking-turns",
    thresholds=(
        Threshold("min_any", 0.7, "share", "Where all are idle for longer, that has other causes, which come first."),
        Threshold("max_overlap", 0.05, "share", "Chance alone makes two devices that are busy for half of the time "
                  "overlap for a third."),
        Threshold("min_share", 0.1, "share", "Dividing the work costs time of its own."),
    ),
    check=check,
)  # fmt: skip
