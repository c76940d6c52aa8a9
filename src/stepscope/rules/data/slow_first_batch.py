"""The first batch takes far longer than the others.

## What it finds
A first wait for the loader that is many times longer than all later ones: worker processes start, import their modules
and open their files, and every one of them has to load its first batch before the first step can begin.

## Why it matters
The job pays for it whenever the loader is iterated anew: once per epoch, and again for each validation. With short
epochs or many workers that is a good part of the time.

## How it decides
The first wait must take `min_ns`, and be more than five times as long as each of at least three later ones
(`data.odd_first`). There is no price: how often it recurs depends on the length of an epoch, which the recording does
not tell.

## What to try
Keep the workers between epochs, use one loader that goes on for ever, import and open less when a worker starts, and
start the loader before the model is built.

## Known limits
With many workers that are all too slow, the second long wait may come only after the recording has ended; it then
looks like a slow start.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from stepscope.model.amounts import duration
from stepscope.rules.finding import Action
from stepscope.rules.rule import Draft, Limits, Rule, Threshold
from stepscope.signals import Signals
from stepscope.signals.data.data import in_process, odd_first, waits

_KEEP = Action(
    "Keep the workers alive between epochs",
    before="DataLoader(dataset, num_workers=8)",
    after="DataLoader(dataset, num_workers=8, persistent_workers=True)",
    page="data-loading",
)
_EARLY = Action(
    "Start the loader before it is needed, and let it go on for ever",
    before="model = build_model()\nfor epoch in range(n):\n    for batch in loader:",
    after="batches = iter(endless(loader))  # the workers start here\nmodel = build_model()\n"
    "for step in range(n * len(loader)):\n    batch = next(batches)",
    page="prefetching",
)


def check(s: Signals, limits: Limits) -> Iterator[Draft]:
    """Compare the first wait with the later ones."""
    found = s(waits)
    if not s(odd_first) or found.dur[0] < limits["min_ns"]:
        return
    first, later = int(found.dur[0]), int(np.median(found.dur[1:]))
    yield Draft(
        title="The first batch takes long",
        summary=f"The first batch took {duration(first)}, later ones {duration(later)}: each time the loader is "
        "iterated anew, the job waits for it to start.",
        actions=(_EARLY,) if s(in_process) else (_KEEP, _EARLY),
        confidence=0.6,
        events=found.events[:1],
        ranges=((int(found.ts[0]), int(found.ts[0]) + first),),
        rows=({"table": "dataloader", "where": {"name": found.names[0]}},),
        numbers={"first_ns": first, "later_median_ns": later, "min_ns": limits["min_ns"]},
    )


RULE = Rule(
    "DAT002",
    "slow-first-batch",
    thresholds=(
        Threshold(
            "min_ns", 100e6, "ns", "Ten times the 10 ms from which msprof-analyze calls a call of the loader slow."
        ),
    ),
    check=check,
    whole=True,
)
