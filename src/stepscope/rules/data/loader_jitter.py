"""Some batches take much longer to load than others.

## What it finds
A loader whose workers keep up on average, while the job still waits for single batches: most are ready when asked for,
and a few come late, at irregular intervals.

## Why it matters
Prefetching hides differences between batches only as far as its queue reaches. Beyond that the job stops, and with
several ranks all of them wait for the one that waits.

## How it decides
At least `min_batches` waits must be recorded. A quarter of them must make up 80 % of all waiting, and the long ones
must come at intervals that differ (`data.irregular`): workers that are simply too slow make the job wait at regular
intervals. The price is the time that the devices are idle meanwhile, as a mean over all complete steps: those that wait
for a late batch are so few and long that they need not be among the typical ones. It must come to `min_share` of the
step. A single late batch has no price, since nobody knows how often there is one: it must come to `min_once`, is told
as a share of the recording, and stands where half of its time per step would.

## What to try
Prefetch more batches, so that the queue outlasts a slow one; use more workers, so that one slow batch holds up fewer.
Find what makes some batches slow: samples of very different length, files on shared storage, a cache that is filled
anew. Group samples of similar length.

## Known limits
A few recorded steps tell little about rare events. The order of batches is kept by the loader, so that one slow batch
holds up all later ones; `in_order=False` (PyTorch 2.6 and later) lets others pass, at the price of a random order.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from stepscope.language import said
from stepscope.model.amounts import duration
from stepscope.rules.finding import Action
from stepscope.rules.rule import Draft, Limits, Rule, Threshold
from stepscope.signals import Signals
from stepscope.signals.data.data import in_process, irregular, late_idle_ns, regular
from stepscope.signals.shared.job import span_ns, step_ns, steps
from stepscope.signals.shared.step_columns import longest

_PREFETCH = Action(
    "Prefetch more batches and use more workers, so that a slow batch does not empty the queue",
    before="DataLoader(dataset, num_workers=n)   # prefetch_factor=2",
    after="DataLoader(dataset, num_workers=2 * n, prefetch_factor=8, persistent_workers=True)",
    page="prefetching",
)
_EVEN = Action(
    "Make batches equally expensive: group samples of similar length, limit tokens instead of samples",
    before="DataLoader(dataset, batch_size=32, shuffle=True)",
    after="DataLoader(dataset, batch_sampler=LengthGroupedBatches(lengths, max_tokens=16_384))",
    page="data-loading",
)
#: What else a single long wait can be.
_ONCE = said(
    " How often one does, a longer recording would tell; an epoch that starts its workers anew waits like that too."
)


def check(s: Signals, limits: Limits) -> Iterator[Draft]:
    """Look for long waits among short ones."""
    found = s(regular)
    if s(in_process) or found.dur.size < limits["min_batches"]:
        return
    late = s(irregular)
    cost = s(late_idle_ns) if late.any() else 0
    if not cost or cost < limits["min_share"] * s(step_ns):
        return
    events, dur = found.events[late], found.dur[late]
    once, share = late.sum() == 1, cost * s(steps) / s(span_ns)
    if once and share < limits["min_once"]:
        return
    yield Draft(
        title="Some batches come late",
        summary=said(
            "{late:,} of {size:,} batches came late, after waits of up to {dur}; the median wait is {median}.{once}",
            late=late.sum(), size=late.size, dur=duration(int(dur.max())), median=duration(int(np.median(found.dur))),
            once=_ONCE if once else "",
        ),
        actions=(_PREFETCH, _EVEN),
        cost_ns=None if once else cost,
        recorded_share=share if once else None,
        placed_as_ns=cost // 2 if once else None,
        confidence=0.6 if once else 0.8,
        events=longest(events, dur),
        rows=({"table": "dataloader", "where": {"name": found.names[0]}},),
        numbers={late_idle_ns.name: cost, **limits},
    )  # fmt: skip


RULE = Rule(
    "DAT005",
    "loader-jitter",
    thresholds=(
        Threshold("min_share", 0.01, "share", "What costs less than 1 % of the step is not shown."),
        Threshold("min_batches", 10, "count", "Three long waits among fewer are more than a few."),
        Threshold(
            "min_once", 0.03, "share", "A single late batch need not come again: a medium part of the recording."
        ),
    ),
    check=check,
    whole=True,
)
