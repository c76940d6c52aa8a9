"""Kernels of different streams do not overlap.

## What it finds
Small kernels that are launched and first on their stream, but wait while small kernels of another stream run.

## Why it matters
The program uses several streams so that their work overlaps. If something serialises them, such as a default stream
that waits for all others, most of the device stays idle.

## How it decides
For each kernel with fewer blocks than half of the SMs or CUs: the time between its launch (or the end of its
predecessor on its stream) and its start, as far as kernels of other streams ran then that left as much room. These
waits must reach `min_share` of the step. The price is what the step would save if these kernels overlapped.

## What to try
Streams that don't wait for the default stream (`cudaStreamNonBlocking`; PyTorch's own are so), no work on the default
stream while others run, and events only where there is something to wait for.

## Known limits
Where streams wait for each other by events, recordings don't tell which kernel waits for what, and the rule abstains.
"""

from __future__ import annotations

from collections.abc import Iterator

from stepscope.language import said
from stepscope.model.amounts import duration, plural
from stepscope.model.events.change import Change
from stepscope.rules import native
from stepscope.rules.finding import Action
from stepscope.rules.rule import Draft, Limits, Rule, Threshold
from stepscope.rules.wording import on_stream, torch_module
from stepscope.signals import Signals
from stepscope.signals.kernels.streams import apart
from stepscope.signals.shared.job import per_step, platform, recorded_steps
from stepscope.signals.shared.step_columns import longest


def check(s: Signals, limits: Limits) -> Iterator[Draft]:
    """Compare such waits with the step."""
    found = s(apart)
    if not found.event.size or found.of_step < limits["min_share"]:
        return
    steps = s(recorded_steps)
    number = max(found.event.size // steps, 1)
    yield Draft(
        title="Kernels of different streams do not overlap",
        summary=said(
            "{kernels} per step {en_waits} {per_step} for kernels of another stream that leave room for "
            "them; {queues} streams have compute.",
            kernels=plural(number, "small kernel"), en_waits="waits" if number == 1 else "wait",
            per_step=duration(per_step(s, found.waited.sum())), queues=found.queues,
        ),
        actions=(_beside(s(platform)),),
        change=Change(overlapped=found.event),
        confidence=0.6,
        events=longest(found.event, found.waited),
        numbers={f"{apart.name}.of_step": round(found.of_step, 4), "min_share": limits["min_share"]},
    )  # fmt: skip


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
