"""Operators of the model run on the host.

## What it finds
Operators in the step that launch nothing on the device and take long: sorting, indexing, masks or sums over tensors
that lie in host memory, or layers of the model that were left on the host, while the device waits.

## Why it matters
The host computes such things many times slower than the device, and their inputs and results have to be copied back
and forth, each time with a wait.

## How it decides
PyTorch operators that launch nothing and do at least half of their work themselves, whose median call takes 50 µs and
ten times what operators that call no other usually take, must reach `min_share` of the step
(`cpu_operators.working_share`); the loader's own do not count. The price is what the step would save on its dependency
graph if such an operator took what a launch takes.

## What to try
Move layers that multiply matrices to the device. Create tensors on the device (`device=` in `torch.arange`,
`torch.zeros`, `torch.tensor`) and keep them there; move the computation into the data loader if it depends on the batch
only.

## Known limits
Whether the operands could lie on the device is not visible. Operators of custom libraries are not looked at.
"""

from __future__ import annotations

from collections.abc import Iterator

from stepscope.language import said
from stepscope.model.amounts import duration, percent
from stepscope.model.events.change import Change, Scaled
from stepscope.rules.finding import Action
from stepscope.rules.rule import Draft, Limits, Rule, Threshold
from stepscope.rules.shared.processor_remedies import part_moved
from stepscope.rules.wording import torch_device
from stepscope.signals import Signals
from stepscope.signals.host.cpu_operators import working, working_share
from stepscope.signals.shared.job import platform, recorded_steps
from stepscope.signals.shared.ran_on import is_layer
from stepscope.signals.shared.step_columns import longest

#: What an operator with its launch takes on the host.
_LAUNCH_NS = 10_000
#: So many operators are named.
_NAMED = 3


def check(s: Signals, limits: Limits) -> Iterator[Draft]:
    """Compare the time of such operators with the step."""
    found = s(working)
    if not found.events.size or s(working_share) < limits["min_share"]:
        return
    device = torch_device(s(platform))
    total = int(found.dur.sum()) // s(recorded_steps)
    yield Draft(
        title="Operators run on the host",
        summary=said(
            "Operators on the host take {total} of each step ({working_share}): {names}.",
            total=duration(total), working_share=percent(s(working_share)), names=", ".join(found.names[:_NAMED]),
        ),
        actions=(
            *((part_moved(s(platform)),) if any(map(is_layer, found.names[:_NAMED])) else ()),
            Action(
                "Create tensors on the device and keep them there",
                before=f'mask = torch.arange(n) < length\nx = x * mask.to("{device}")',
                after=f'mask = torch.arange(n, device="{device}") < length\nx = x * mask',
                page="host-cores",
            ),
            Action("Compute what depends on the batch only in the workers of the data loader", page="data-loading"),
        ),
        change=Change(host=(Scaled(found.events, min(_LAUNCH_NS / max(float(found.dur.mean()), 1.0), 1.0)),)),
        confidence=0.7,
        events=longest(found.events, found.dur),
        rows=tuple({"table": "operators", "where": {"name": name}} for name in found.names[:_NAMED]),
        numbers={working_share.name: s(working_share), "min_share": limits["min_share"]},
    )  # fmt: skip


RULE = Rule(
    "HST007",
    "cpu-operators",
    thresholds=(Threshold("min_share", 0.01, "share", "What costs less than 1 % of the step is not shown."),),
    check=check,
    symptom_of=("HST006",),
)
