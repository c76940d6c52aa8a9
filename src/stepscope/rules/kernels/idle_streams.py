"""Work of several queues runs one after another.

## What it finds
Small kernels on one queue of a device that wait, launched and with nothing before them on their queue, while small
kernels of another queue run.

## Why it matters
The program put work on several queues to have it run side by side. If something keeps them apart, such as a default
stream that waits for all others, most of the device is idle all the same.

## How it decides
For each kernel with blocks for less than half of the multiprocessors: the time between its launch (or the end of what
was before it on its queue) and its begin, as far as kernels of other queues ran then that left as much room. These
waits must come to `min_share` of the step. The price is that of kernels which others pass by.

## What to try
Streams that don't wait for the default stream (`cudaStreamNonBlocking`; PyTorch's own are so), no work on the default
stream while others run, and events only where there is something to wait for.

## Known limits
Where streams wait for each other by events, recordings don't tell which kernel waits for what, and the rule abstains.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from stepscope.model.amounts import duration, plural
from stepscope.model.events.change import Change
from stepscope.rules import native
from stepscope.rules.finding import Action
from stepscope.rules.rule import Draft, Limits, Rule, Threshold
from stepscope.rules.wording import on_stream, torch_module
from stepscope.signals import Signals
from stepscope.signals.kernels.streams import apart
from stepscope.signals.shared.job import platform, recorded_steps


def check(s: Signals, limits: Limits) -> Iterator[Draft]:
    """Hold such waits against the step."""
    found = s(apart)
    if not found.event.size or found.of_step < limits["min_share"]:
        return
    steps = s(recorded_steps)
    number = max(found.event.size // steps, 1)
    yield Draft(
        title="Queues run one after another",
        summary=f"The device has {found.queues} queues with compute, but {plural(number, 'small kernel')} per step "
        f"{'waits' if number == 1 else 'wait'} {duration(int(found.waited.sum()) // steps)} for kernels of another "
        "queue that leave room for them.",
        actions=(_beside(s(platform)),),
        change=Change(overlapped=found.event),
        confidence=0.6,
        events=found.event[np.argsort(-found.waited, kind="stable")[:20]],
        numbers={f"{apart.name}.of_step": round(found.of_step, 4), "min_share": limits["min_share"]},
    )


def _beside(platform: str) -> Action:
    module = torch_module(platform)
    return Action(
        "Put independent branches on streams of their own, and nothing on the default stream meanwhile",
        before="a = branch_a(x)\nb = branch_b(x)",
        after=f"side.wait_stream({module}.current_stream())\n{on_stream(platform, 'side')}\n    b = branch_b(x)\n"
        f"a = branch_a(x)\n{module}.current_stream().wait_stream(side)",
        page="streams",
    )


RULE = Rule(
    "KRN014",
    "idle-streams",
    thresholds=(Threshold("min_share", 0.01, "share", "What costs less than 1 % of the step is not shown."),),
    check=check,
    elsewhere=native.HANDING_OVER,
)
