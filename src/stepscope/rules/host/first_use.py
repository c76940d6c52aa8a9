"""The first use of the device takes far longer than what was to be measured.

## What it finds
Recordings of a batch or two that hold the start of the device: creating its context, loading kernels and libraries,
trying algorithms.

## Why it matters
It happens once in a process, takes up to seconds, and says nothing of how fast the program is. All else in such a
recording is small beside it, and what is first used in between is slowed down, too.

## How it decides
Calls of the runtime of a millisecond and more that are the first of their name, launches that are the first of their
kernel, and first operators of a kind that take many times as long as later ones (`one_time.first_use`), while no device
works, must take `min_ns` and at least three times as long as what was to be measured: the typical steps, or the
device's own work without steps (`one_time.measured`), and `min_share` of the recording. Profilers of whole processes
always record the start, which is no finding there. There is no price: it is no part of a step.

## What to try
Run a few iterations before the recording starts. Where starting itself is what takes too long, for example in a service
that scales up, load kernels ahead of time.

## Known limits
A call that waits for another process looks the same.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from stepscope.language import said
from stepscope.model.amounts import duration, percent, plural
from stepscope.rules.finding import Action
from stepscope.rules.rule import Draft, Limits, Rule, Threshold
from stepscope.signals import Signals
from stepscope.signals.host.one_time import first_use, measured
from stepscope.signals.recording.enough import verdict

#: Calls that page-lock memory of the host: the first one may create the context, but the memory takes time as well.
_LOCKING: Final = re.compile(r"Host(Alloc|Register)|MallocHost|MemHostRegister|MemAllocHost", re.IGNORECASE)
_ONCE: Final = said("As a rule they come once.")
_LOCKS: Final = said("As a rule they come once; page-locking memory takes longer the more it is, each time it is done.")
#: What takes half of the recording is most of it.
_MOSTLY: Final = 0.5

_WARM: Final = Action(
    "Run some iterations before the recording starts",
    before="with profile() as prof:\n    step()",
    after="with profile(schedule=schedule(wait=1, warmup=3, active=3)) as prof:\n    for _ in range(7):\n"
    "        step(); prof.step()",
    page="recording",
)
_EAGER: Final = Action(
    "Where starting is what takes too long: load all kernels at once instead of each at its first launch, in a process "
    "that is started before it is needed",
    before="CUDA_MODULE_LOADING=LAZY   # the default",
    after="export CUDA_MODULE_LOADING=EAGER",
    needs=("cuda",),
)


def check(s: Signals, limits: Limits) -> Iterator[Draft]:
    """Compare first use with what was to be measured."""
    found, what = s(first_use), s(measured)
    share = found.total_ns / what.recorded_ns
    if not found.name or found.total_ns < limits["min_ns"] or share < limits["min_share"]:
        return
    if not what.dwarfed_by(found.total_ns):
        return
    # That rule says so already, with the same remedy.
    told = s.maybe(verdict)
    if told is not None and told.kind == "first use":
        return
    others = (
        said("; {calls} like it", calls=plural(found.count - 1, "other call", "other calls")) if found.count > 1 else ""
    )
    placed = None if what.loop else found.total_ns
    yield Draft(
        title="The first use of the device takes most of the recording"
        if share >= _MOSTLY
        else "The first use of the device takes longer than what was to be measured",
        summary=said(
            "First calls, which create the context and load kernels and libraries, take {total} of the "
            "{recorded} recorded ({share}), while the device works for {ns}: {longest} in one "
            "{name}{others}. ",
            total=duration(found.total_ns), recorded=duration(what.recorded_ns), share=percent(share),
            ns=duration(what.ns), longest=duration(found.longest_ns), name=found.name, others=others,
        )
        + (_LOCKS if _LOCKING.search(found.name) else _ONCE),
        actions=(_WARM, _EAGER),
        taken_ns=placed,
        placed_as_ns=placed,
        waiting=placed is not None,
        recorded_share=share,
        confidence=0.85,
        events=found.events,
        rows=({"table": "coverage", "where": {"part": "start-up"}},),
        numbers={"total_ns": found.total_ns, "measured_ns": what.ns, **limits},
    )  # fmt: skip


RULE = Rule(
    "HST018",
    "first-use",
    thresholds=(
        Threshold("min_ns", 100e6, "ns", "A context alone takes some 100 ms to make."),
        Threshold("min_share", 0.1, "share", "What lies outside the steps is named from there."),
    ),
    check=check,
    whole=True,
)
