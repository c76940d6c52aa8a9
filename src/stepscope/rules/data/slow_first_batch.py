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
not tell. In a recording of a batch or two, waits that can't be compared (`data.lone`) must take `min_ns` together, and
three times as long as the device works on what they bring (`one_time.measured`), or three tenths of a recording
without steps: such a recording is one of the loader, and can't tell whether every batch takes as long. Shorter ones are
said where the device idles in them for `min_idle` of the only step or two, and stand where what costs as much would.

## What to try
Keep the workers between epochs, use one loader that goes on for ever, import and open less when a worker starts, and
start the loader before the model is built.

## Known limits
With many workers that are all too slow, the second long wait may come only after the recording has ended; it then
looks like a slow start.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np

from stepscope.language import said
from stepscope.model.amounts import duration, percent, plural
from stepscope.rules.finding import Action
from stepscope.rules.rule import Draft, Limits, Rule, Threshold
from stepscope.signals import Signals
from stepscope.signals.data.data import LoaderWaits, in_process, lone, odd_first, wait_ns, waits
from stepscope.signals.host.one_time import measured
from stepscope.signals.shared.idleness import data_wait_idle_ns
from stepscope.signals.shared.job import platform, step_ns, stepless

#: What takes so much of a recording is worth a look, whatever else is in it.
_MUCH: Final = 0.3
_UNKNOWN: Final = said("So few can't tell whether each takes so long.")

_KEEP = Action(
    "Keep the workers alive between epochs",
    before="DataLoader(dataset, num_workers=n)",
    after="DataLoader(dataset, num_workers=n, persistent_workers=True)",
    page="data-loading",
)
_EARLY = Action(
    "Start the loader before it is needed, and let it go on for ever",
    before="model = build_model()\nfor epoch in range(n):\n    for batch in loader:",
    after="batches = iter(endless(loader))  # the workers start here\nmodel = build_model()\n"
    "for step in range(n * len(loader)):\n    batch = next(batches)",
    page="prefetching",
)


_SEVERAL = Action(
    "Find out whether every batch takes so long, or only the first: record several",
    before="batch = next(iter(loader))\nwith profile() as prof:\n    step(batch)",
    after="with profile(schedule=schedule(wait=1, warmup=2, active=5)) as prof:\n    for batch in loader:\n"
    "        step(batch); prof.step()",
    page="recording",
)
_WORKERS = Action(
    "If every batch takes so long: load in workers, several batches ahead",
    before="DataLoader(dataset)",
    after="DataLoader(dataset, num_workers=8, prefetch_factor=4, pin_memory=True)",
    page="data-loading",
)
_FASTER = Action(
    "If every batch takes so long: see in a worker what it does, and do less of it there: decode once and keep the "
    "result, read larger files, use more workers",
    after="py-spy record --subprocesses --output loader.svg -- python program.py",
    page="data-loading",
)


def check(s: Signals, limits: Limits) -> Iterator[Draft]:
    """Compare the first wait with the later ones, or lone waits with the device's work."""
    found = s(waits)
    if s.maybe(lone):
        yield from _alone(s, limits)
        return
    if not s(odd_first) or found.dur[0] < limits["min_ns"]:
        return
    first, later = int(found.dur[0]), int(np.median(found.dur[1:]))
    yield Draft(
        title="The first batch takes long",
        summary=said(
            "The first batch took {first}, later ones {later}: each time the loader is iterated anew, the "
            "job waits for it to start.",
            first=duration(first), later=duration(later),
        ),
        actions=(_EARLY,) if s(in_process) else (_KEEP, _EARLY),
        confidence=0.6,
        events=found.events[:1],
        ranges=((int(found.ts[0]), int(found.ts[0]) + first),),
        rows=({"table": "dataloader", "where": {"name": found.names[0]}},),
        numbers={"first_ns": first, "later_median_ns": later, "min_ns": limits["min_ns"]},
    )  # fmt: skip


def _alone(s: Signals, limits: Limits) -> Iterator[Draft]:
    found, what = s(waits), s.maybe(measured)
    total = int(found.dur.sum())
    dwarfs = what is not None and what.dwarfed_by(total)
    # Without steps to be compared with, it is told by its part of the recording.
    much = what is not None and what.chosen and s.maybe(stepless) is True and total >= _MUCH * what.recorded_ns
    if what is None or total < limits["min_ns"] or not (dwarfs or much):
        if what is not None and not what.loop:
            yield from _in_step(s, found, limits)
        return
    batches = found.dur.size
    alone = s(in_process)
    worker = said("the model computes") if s.maybe(platform) == "cpu" else said("the device works")
    first = said("{dur} of it for the first, ", dur=duration(int(found.dur[0]))) if batches > 1 else ""
    start = said(" It may be the start of the workers, which each load a first batch.") if alone is False else ""
    yield Draft(
        title="Getting the batch takes far longer than computing on it"
        if dwarfs
        else "Getting the batch takes much of the recording",
        summary=said(
            "The loader takes {total} of the {recorded} recorded ({share}) for {batches} ({first}in "
            "{names}), on which {worker} for {ns}.{start} {unknown}",
            total=duration(total), recorded=duration(what.recorded_ns), share=percent(total / what.recorded_ns),
            batches=plural(batches, "batch", "batches"), first=first, names=found.names[0], worker=worker,
            ns=duration(what.ns), start=start, unknown=_UNKNOWN,
        ),
        actions=(_SEVERAL, *((_WORKERS,) if alone else (_KEEP, _FASTER) if alone is False else (_FASTER,))),
        taken_ns=None if what.loop else total,
        placed_as_ns=None if what.loop else total,
        waiting=not what.loop,
        recorded_share=total / what.recorded_ns,
        confidence=0.7,
        events=found.events,
        ranges=tuple((int(ts), int(ts + dur)) for ts, dur in zip(found.ts, found.dur, strict=True)),
        rows=({"table": "dataloader", "where": {"name": found.names[0]}},),
        numbers={"total_ns": total, "measured_ns": what.ns, "min_ns": limits["min_ns"]},
    )  # fmt: skip


def _in_step(s: Signals, found: LoaderWaits, limits: Limits) -> Iterator[Draft]:
    """Say what the device waits for the batches of the only steps."""
    step, idle = s.maybe(step_ns), s.maybe(data_wait_idle_ns)
    idle = s.maybe(wait_ns) if idle is None else idle
    if not step or idle is None or idle < limits["min_idle"] * step:
        return
    batches = found.dur.size
    alone = s(in_process)
    yield Draft(
        title="The step waits for its batch, in the few that are recorded",
        summary=said(
            "The step waits {idle} ({share} of it) for its batch, in {names}; {are} recorded. {unknown}",
            idle=duration(idle), share=percent(idle / step), names=found.names[0],
            are=plural(batches, "batch is", "batches are"), unknown=_UNKNOWN,
        ),
        actions=(_SEVERAL, *((_WORKERS,) if alone else (_FASTER,))),
        taken_ns=idle,
        placed_as_ns=idle,
        waiting=True,
        confidence=0.6,
        events=found.events,
        ranges=tuple((int(ts), int(ts + dur)) for ts, dur in zip(found.ts, found.dur, strict=True)),
        rows=({"table": "dataloader", "where": {"name": found.names[0]}},),
        numbers={"idle_ns": idle, "min_idle": limits["min_idle"]},
    )  # fmt: skip


RULE = Rule(
    "DAT002",
    "slow-first-batch",
    thresholds=(
        Threshold(
            "min_ns", 100e6, "ns", "Ten times the 10 ms from which msprof-analyze calls a call of the loader slow."
        ),
        Threshold("min_idle", 0.1, "share", "One batch may be an odd one: only a large part of its step is worth it."),
    ),
    check=check,
    whole=True,
)
