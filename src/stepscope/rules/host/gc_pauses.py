"""Python's garbage collector stops the host within steps.

## What it finds
Runs of Python's garbage collector inside recorded steps, during which the host launches nothing.

## Why it matters
The collector of the oldest generation walks over every object that the program holds: with a large dataset or model in
Python objects that takes tens or hundreds of milliseconds. It comes at a different moment on every rank, and in a
synchronous job all others wait each time.

## How it decides
Collections must take `min_share` of the mean step (`host.collecting_share`). The price is what the step would save on
its dependency graph without them.

## What to try
Collect by hand at a moment that suits, the same on all ranks: `gc.disable()` at the start, `gc.collect()` every some
hundred steps; a program that calls it in each step should call it less often. Freeze what was made before the loop
(`gc.freeze()`), so that the collector does not walk over it.

## Known limits
Collections are recorded only if asked for: by PyTorch with `record_python_gc_info=True` in its experimental
configuration, by the Ascend PyTorch Profiler with `gc_detect_threshold`. Without that they look like pauses of the host
(HST012).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from stepscope.language import said
from stepscope.model.amounts import duration, percent
from stepscope.model.events.change import Change, Scaled
from stepscope.rules.finding import Action
from stepscope.rules.rule import Draft, Limits, Rule, Threshold
from stepscope.signals import Signals
from stepscope.signals.host.host import asked_to_collect, collecting_share, collections

MANUAL = Action(
    "Collect by hand, at the same step on all ranks, and freeze what lives for ever",
    before="for step, batch in enumerate(loader):\n    train(batch)",
    after="gc.collect(); gc.freeze(); gc.disable()\nfor step, batch in enumerate(loader):\n    train(batch)\n"
    "    if step % 500 == 0:\n        gc.collect()",
    page="garbage-collection",
)
_RARER = Action(
    "Or let it run less often",
    before="gc.get_threshold()  # (700, 10, 10)",
    after="gc.set_threshold(50_000, 50, 100)",
    page="garbage-collection",
)


_LESS = Action(
    "Call gc.collect() once in many steps, or not at all",
    before="for step, batch in enumerate(loader):\n    train(batch)\n    gc.collect()",
    after="for step, batch in enumerate(loader):\n    train(batch)\n    if step % 500 == 0:\n        gc.collect()",
    page="garbage-collection",
)


def check(s: Signals, limits: Limits) -> Iterator[Draft]:
    """Compare collections with the step."""
    found = s(collections)
    if not found.events.size or s(collecting_share) < limits["min_share"]:
        return
    asked = s(asked_to_collect)
    longest = np.argsort(-found.dur, kind="stable")[:10]
    yield Draft(
        title="Garbage collection stops the host",
        summary=said(
            "Garbage collection takes {collecting_share} of the step: {size:,} times in the recording, "
            "for up to {dur}. The host launches nothing meanwhile.{asked}",
            collecting_share=percent(s(collecting_share)), size=found.events.size, dur=duration(int(found.dur.max())),
            asked=said(" The program calls gc.collect() itself.") if asked else "",
        ),
        actions=(_LESS,) if asked else (MANUAL, _RARER),
        change=Change(host=(Scaled(found.events, 0.0),)),
        confidence=0.95,
        events=found.events[longest],
        ranges=tuple(zip(found.ts[longest].tolist(), (found.ts + found.dur)[longest].tolist(), strict=True)),
        numbers={collecting_share.name: s(collecting_share), "min_share": limits["min_share"]},
    )  # fmt: skip


RULE = Rule(
    "HST005",
    "gc-pauses",
    thresholds=(
        Threshold(
            "min_share", 0.005, "share", "Below what is shown; msprof-analyze lists each collection of 1 ms or more."
        ),
    ),
    check=check,
)
