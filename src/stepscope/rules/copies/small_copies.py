"""Many small copies to the device.

## What it finds
Many copies per step of less than 64 KiB from the host to the device.

## Why it matters
A copy of a few kilobytes takes microseconds on the device whatever its size, and costs the host an operator and a call,
often with a wait. One copy with the data of ten takes as long as one of them.

## How it decides
There must be at least `min_copies` of them per step. The price is the step with one copy instead of all: the other
copies, their waits, and the operators that do nothing else are gone. It is not higher than what these take together.

## What to try
Pack what belongs to a step into one tensor, copy it, and take views of it on the device; make constants on the device.

## Known limits
Copies at very different times of a step can't always be one.
"""

from __future__ import annotations

from collections.abc import Iterator

from stepscope.language import said
from stepscope.model.amounts import duration, quantity
from stepscope.model.events.change import Change, Scaled
from stepscope.rules import native
from stepscope.rules.finding import Action
from stepscope.rules.rule import Draft, Limits, Rule, Threshold
from stepscope.rules.wording import torch_device
from stepscope.signals import Signals
from stepscope.signals.copies.copy_kinds import packed, small
from stepscope.signals.shared.job import platform, recorded_steps


def check(s: Signals, limits: Limits) -> Iterator[Draft]:
    """Compare the number of small copies with the threshold."""
    found = s(packed)
    if found.per_step < limits["min_copies"]:
        return
    gone, every, steps = found.gone, s(small), s(recorded_steps)
    size = quantity(every.bytes.sum() / steps, "bytes")
    most = (found.host_ns + int(gone.dur.sum())) // steps
    yield Draft(
        title="Many small copies",
        summary=said(
            "{per_step:,.0f} copies per step to the device carry {size} in all; the host waits {blocked} "
            "for them. One copy instead of all would save up to {most} of host and device time.",
            per_step=found.per_step, size=size, blocked=duration(every.blocked_ns // steps), most=duration(most),
        ),
        actions=_actions(torch_device(s(platform))),
        change=Change(device=(Scaled(gone.event, 0.0),), host=(Scaled(found.calls, 0.0),), unblocked=gone.held),
        most_ns=most,
        confidence=0.7,
        events=every.longest,
        rows=({"table": "copies", "where": {"direction": "HtoD"}},),
        numbers={"copies per step": round(found.per_step, 1), "min_copies": limits["min_copies"]},
    )  # fmt: skip


def _actions(where: str) -> tuple[Action, ...]:
    return (
        Action(
            "Pack small tensors into one, and take views of it on the device",
            before=f'a, b, c = a.to("{where}"), b.to("{where}"), c.to("{where}")',
            after=f"flat = torch.cat([a.flatten(), b.flatten(), c.flatten()]).pin_memory()\n"
            f'a, b, c = flat.to("{where}", non_blocking=True).split([a.numel(), b.numel(), c.numel()])',
            page="pinned-memory",
        ),
        Action(
            "Make constants on the device",
            before=f'scale = torch.tensor(0.5).to("{where}")',
            after=f'scale = torch.full((), 0.5, device="{where}")',
        ),
    )


RULE = Rule(
    "CPY003",
    "small-copies",
    thresholds=(
        Threshold("min_copies", 10, "per step", "A batch of several tensors has fewer; TraceLens speaks from 10 on."),
    ),
    check=check,
    elsewhere=native.PACKING,
    symptom_of=("CPY001", "SYN003"),
)
