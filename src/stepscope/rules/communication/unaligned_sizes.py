"""Transfers of unaligned size slow collectives down.

## What it finds
Transfers within collectives whose size is no multiple of 512 bytes, and which are slower than the aligned transfers
of the same collectives.

## Why it matters
The engine that copies between NPUs works in units of 512 bytes. A buffer that is not a multiple of that is cut into
uneven chunks, and the unaligned one is slower than the others, which wait for it.

## How it decides
Transfers by the device's own engine (SDMA) of more than 512 bytes, over a link and not within the chip, whose size is
no multiple of 512. Their rate must be lower than that of the aligned transfers of the same collectives by
`min_slowdown`: a size that costs nothing is not reported. The price is what the step would save if they ran at the
aligned rate.

## What to try
Pad flattened gradients and exchanged buffers to a multiple of 512 bytes times the number of ranks.

## Known limits
Only HCCL records its single transfers, and only from profiler level 1 on. Small transfers are slower at any alignment;
those of less than half the mean size are left out.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from stepscope.language import said
from stepscope.model.amounts import percent, quantity
from stepscope.model.events.change import Change, scaled_each
from stepscope.rules.finding import Action
from stepscope.rules.rule import Draft, Limits, Rule, Threshold
from stepscope.signals import Signals
from stepscope.signals.communication.comm_tasks import ALIGNMENT, Parts, aligned, unaligned
from stepscope.signals.communication.communication import calls

_PAD = Action(
    "Pad exchanged tensors to a multiple of 512 bytes per rank",
    before="flat = torch.cat([g.flatten() for g in grads])",
    after="unit = 512 // flat.element_size() * world_size\nflat = F.pad(flat, (0, -flat.numel() % unit))",
    page="hccl-settings",
)


def check(s: Signals, limits: Limits) -> Iterator[Draft]:
    """Compare the rate of unaligned transfers with that of aligned ones."""
    odd, even = s(unaligned), s(aligned)
    if not odd.event.size or not even.event.size:
        return
    slowdown = 1 - odd.rate / even.rate
    if slowdown < limits["min_slowdown"]:
        return
    collectives = np.unique(odd.collective)
    yield Draft(
        title="Unaligned sizes slow collectives down",
        summary=said(
            "{size} transfers of {size_2} collectives are no multiple of {alignment} bytes and run at "
            "{rate}, {slowdown} slower than the aligned ones beside them.",
            size=odd.event.size, size_2=collectives.size, alignment=ALIGNMENT, rate=quantity(odd.rate, "bytes/s"),
            slowdown=percent(slowdown),
        ),
        actions=(_PAD,),
        change=_aligned(s, odd, slowdown),
        confidence=0.7,
        events=collectives[:20],
        rows=({"table": "collectives", "where": {}},),
        numbers={"unaligned": odd.event.size, "slowdown": slowdown, **limits},
    )  # fmt: skip


def _aligned(s: Signals, odd: Parts, slowdown: float) -> Change:
    """Each collective without the time that its slowest unaligned transfer loses."""
    found = s(calls)
    lost = np.zeros(found.event.size)
    for at, event in enumerate(found.event.tolist()):
        mine = odd.dur[odd.collective == event]
        lost[at] = slowdown * float(mine.max(initial=0))
    return Change(device=scaled_each(found.event, 1 - np.minimum(lost / np.maximum(found.dur, 1), 1.0)))


RULE = Rule(
    "COM004",
    "unaligned-sizes",
    thresholds=(
        Threshold(
            "min_slowdown",
            0.1,
            "share",
            "The alignment is that of msprof-analyze's byte alignment check, which "
            "reports each odd size; rates of equal transfers differ by up to 10 % in public recordings.",
        ),
    ),
    check=check,
)
