"""Kernels leave cores of the NPU without work.

## What it finds
Long kernels cut into a number of blocks that is no multiple of the number of cores: in their last round some cores
have nothing to do.

## Why it matters
25 blocks on 24 cores take as long as 48. The loss is that of the last round, which matters if there are few rounds.

## How it decides
Kernels of at least `min_ns` whose blocks fill less than `max_filled` of the places in all rounds that they need. The
number of cores is that of the device, or else the most that several kernels of the recording use. The price is what
the step would save if the same work filled all cores.

## What to try
Sizes that divide evenly: batches, heads and hidden sizes that are multiples of the number of cores times the size of
a tile; fewer, larger kernels.

## Known limits
Blocks need not be equal. Kernels of one block do something that can't be divided, and are left out.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from stepscope.language import said
from stepscope.model.amounts import duration, percent
from stepscope.model.errors import MissingInputError
from stepscope.model.events.change import Change, scaled_each
from stepscope.rules.finding import Action
from stepscope.rules.rule import Draft, Limits, Rule, Threshold
from stepscope.signals import Signals
from stepscope.signals.ascend.npu_kernels import cores, units
from stepscope.signals.shared.job import step_ns
from stepscope.signals.shared.step_columns import longest

_EVEN = Action(
    "Choose sizes that divide evenly among the cores",
    before="hidden = 1000; batch = 25",
    after="hidden = 1024; batch = 24   # multiples of the cores and of the 16 x 16 tiles",
    page="npu-operators",
)


def check(s: Signals, limits: Limits) -> Iterator[Draft]:
    """Compare the number of blocks with the number of cores."""
    counts, found = s(units), s(cores)
    if not counts:
        raise MissingInputError(
            "the number of the device's cores is not known",
            hint="give the database export, which names the device",
        )
    available = np.array([counts.get(core, 0) for core in found.core.tolist()])
    looked = (available > 0) & (found.blocks > 1) & (found.dur >= limits["min_ns"])
    found, available = found.where(looked), available[looked]
    filled = found.blocks / (-(-found.blocks // np.maximum(available, 1)) * np.maximum(available, 1))
    poor = filled < limits["max_filled"]
    lost = float((found.dur * (1 - filled))[poor].sum()) / max(found.steps, 1)
    if lost < limits["min_share"] * s(step_ns):
        return
    idle = found.where(poor)
    yield Draft(
        title="Kernels leave cores without work",
        summary=said(
            "{size:,.0f} kernels per step ({types}) fill only {average} of the cores on average, {lost} per step.",
            size=idle.event.size / idle.steps, types=idle.types(),
            average=percent(float(np.average(filled[poor], weights=idle.dur))), lost=duration(int(lost)),
        ),
        actions=(_EVEN,),
        change=Change(device=scaled_each(idle.event, filled[poor])),
        confidence=0.6,
        events=longest(idle.event, idle.dur),
        rows=({"table": "kernels", "where": {"name": str(idle.name[idle.dur.argmax()])}},),
        numbers={"cores": int(available.max(initial=0)), **limits},
    )  # fmt: skip


RULE = Rule(
    "ASC006",
    "block-counts",
    thresholds=(
        Threshold("min_ns", 20_000, "ns", "Shorter kernels are ruled by their launch; msprof-analyze has 20 µs too."),
        Threshold(
            "max_filled", 0.8, "share", "msprof-analyze reports every uneven number; a loss of a fifth is worth it."
        ),
        Threshold("min_share", 0.01, "share", "What costs less than 1 % of the step is not shown."),
    ),
    check=check,
)
