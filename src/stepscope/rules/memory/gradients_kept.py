"""Gradients are zeroed instead of released.

## What it finds
`zero_grad` that fills gradients with zeros: they stay allocated through the next forward pass, and each has to be
written.

## Why it matters
At the peak, at the end of the forward pass, gradients that hold nothing but zeros take as much memory as the
parameters. Writing them costs a kernel per tensor, and adding to them in the backward pass reads them again.

## How it decides
Inside the optimizer's `zero_grad` there are operators that zero tensors, at least `min_calls` per step. The price is
what the step would save without these operators and their kernels; the memory comes on top.

## What to try
`optimizer.zero_grad(set_to_none=True)`, the default since PyTorch 2.0, right after the optimizer's step.

## Known limits
A loop that zeroes gradients by itself, and `module.zero_grad`, leave no mark of their own and are not seen. Code that
reads `.grad` of parameters without gradient must expect None.
"""

from __future__ import annotations

from collections.abc import Iterator

from stepscope.language import said
from stepscope.model.events.change import Change, Scaled
from stepscope.rules.finding import Action
from stepscope.rules.rule import Draft, Limits, Rule, Threshold
from stepscope.signals import Signals
from stepscope.signals.kernels.zeroing import zeroed

_NONE = Action(
    "Release gradients instead of zeroing them",
    before="optimizer.zero_grad(set_to_none=False)",
    after="optimizer.zero_grad(set_to_none=True)  # the default since PyTorch 2.0",
    page="activation-checkpointing",
)


def check(s: Signals, limits: Limits) -> Iterator[Draft]:
    """Count what is zeroed."""
    found = s(zeroed)
    per_step = found.operators.size / max(found.steps, 1)
    if per_step < limits["min_calls"]:
        return
    yield Draft(
        title="Gradients are zeroed instead of released",
        summary=said(
            "`zero_grad` zeroes tensors with {per_step:,.0f} operators per step; the gradients stay "
            "allocated through the next forward pass.",
            per_step=per_step,
        ),
        actions=(_NONE,),
        change=Change(device=(Scaled(found.kernels, 0.0),), host=(Scaled(found.operators, 0.0),)),
        events=found.operators[:20],
        rows=({"table": "annotations" if found.annotated else "operators", "where": {"name": found.name}},),
        numbers={"operators per step": round(per_step, 1), **limits},
    )


RULE = Rule(
    "MEM007",
    "gradients-kept",
    thresholds=(Threshold("min_calls", 1, "count", "PyTorch's own pattern matcher reports the first one."),),
    check=check,
)
