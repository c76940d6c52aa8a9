"""Giving device memory back, or taking it, takes much of the recording.

## What it finds
Calls such as `cudaFree` that take long, in recordings of a batch or two, where nothing shows that they recur; and such
as `cudaMalloc` where the device itself is not recorded.

## Why it matters
The caching allocator keeps what it has, so that such calls are rare: it makes them when the device has no memory left
for a request, or when the program empties the cache. Each waits until the device is done with everything, and what was
given back has to be taken anew.

## How it decides
In a recording of fewer than three typical steps, calls that give device memory back must take `min_ns` together and
`min_share` of the recording (`driver_memory.returned`); where no work of the device is recorded, so must calls that
take it (`driver_memory.taken`): with that work, HST018 tells what is first use, and HST001 what the device waits for. A
call before anything was launched creates the context, and does not count. Where they recur in steps, MEM002 tells it
with a price; where a snapshot of the allocator says why they are made, MEM005 and MEM011 do.

## What to try
See whether allocations fail and are tried again, which PyTorch counts. If so, lower the peak, or let segments grow; if
not, look for `empty_cache`.

## Known limits
The calls don't say who makes them: libraries give back workspaces of their own.
"""

from __future__ import annotations

from collections.abc import Iterator

from stepscope.language import counted, said
from stepscope.model.amounts import duration, percent
from stepscope.rules import native
from stepscope.rules.finding import Action
from stepscope.rules.memory.remedies import layout_actions
from stepscope.rules.rule import Draft, Limits, Rule, Threshold
from stepscope.signals import Signals
from stepscope.signals.memory.driver_memory import Returned, returned, taken
from stepscope.signals.memory.memory import used_share

_COUNT = Action(
    "Find out whether allocations fail and are tried again: more than 0 says so",
    before="step()",
    after='step()\nprint(torch.cuda.memory_stats()["num_alloc_retries"])',
    page="memory-fragmentation",
)
_WARM = Action(
    "See whether a second batch takes memory as well: run one before the recording starts",
    before="with profile() as prof:\n    step()",
    after="step()\nwith profile() as prof:\n    step()",
    page="recording",
)
_DELETE = Action(
    "If so, hold less: drop results before the next ones are made, and compute in parts",
    before="big = torch.einsum(..., a, b)",
    after="for part in a.split(1024):\n    use(torch.einsum(..., part, b))",
)
#: From here on the device is as good as full.
_FULL = 0.9


def check(s: Signals, limits: Limits) -> Iterator[Draft]:
    """Compare calls that give memory back, or take it, with the recording."""
    yield from _given_back(s, limits)
    yield from _taken(s, limits)


def _taken(s: Signals, limits: Limits) -> Iterator[Draft]:
    found = s.maybe(taken)
    if found is None:
        return
    share = found.total_ns / found.recorded_ns
    if found.total_ns < limits["min_ns"] or share < limits["min_share"]:
        return
    yield Draft(
        title="Taking memory from the driver takes much of the time",
        summary=said(
            "{size} {en_takes} {total} of the {recorded} recorded ({share}), the longest {longest}. A "
            "first batch takes its memory so, and later ones have it from the allocator; whether this is "
            "the first is not recorded.",
            size=counted("{count:,} call of {name}", "{count:,} calls of {name}", found.events.size, name=found.name),
            en_takes="takes" if found.events.size == 1 else "take",
            total=duration(found.total_ns),
            recorded=duration(found.recorded_ns),
            share=percent(share),
            longest=_longest(found),
        ),
        actions=(_WARM, _COUNT),
        taken_ns=found.total_ns,
        placed_as_ns=found.total_ns,
        confidence=0.6,
        events=found.events,
        rows=({"table": "memory_churn", "where": {"step": None}},),
        numbers={"total_ns": found.total_ns, **limits},
        key="taken",
    )


def _given_back(s: Signals, limits: Limits) -> Iterator[Draft]:
    found = s(returned)
    share = found.total_ns / found.recorded_ns
    if found.total_ns < limits["min_ns"] or share < limits["min_share"]:
        return
    used = s.maybe(used_share)
    full = used is not None and used >= _FULL
    why = (
        said(
            "At the peak {used} of the device's memory are in use: it may be that a request found no "
            "room, so that the allocator gave its cache back and asked again.",
            used=percent(used or 0.0),
        )
        if full
        else said(
            "A request found no room, or the program empties the cache, or a library gives back its own: "
            "which of these is not recorded."
        )
    )
    yield Draft(
        title="Giving memory back takes much of the time",
        summary=said(
            "{size} {en_takes} {total} of the {recorded} recorded ({share}), the longest {longest}. {why}",
            size=counted("{count:,} call of {name}", "{count:,} calls of {name}", found.events.size, name=found.name),
            en_takes="takes" if found.events.size == 1 else "take",
            total=duration(found.total_ns),
            recorded=duration(found.recorded_ns),
            share=percent(share),
            longest=_longest(found),
            why=why,
        ),
        actions=(_COUNT, *layout_actions(s)[:1], _DELETE) if full else (_COUNT, *layout_actions(s)[:1]),
        taken_ns=found.total_ns,
        placed_as_ns=found.total_ns,
        confidence=0.7,
        events=found.events,
        rows=({"table": "memory_churn", "where": {"step": None}},),
        numbers={"total_ns": found.total_ns, **limits},
    )


def _longest(found: Returned) -> str:
    """How long the longest call lasts, and in which range of the program."""
    lasted = duration(found.longest_ns)
    return said("{lasted} in {within}", lasted=lasted, within=found.within) if found.within else lasted


RULE = Rule(
    "MEM019",
    "memory-returned",
    thresholds=(
        Threshold("min_ns", 1e6, "ns", "Some ten usual calls."),
        Threshold("min_share", 0.1, "share", "What lies outside the steps is named from there."),
    ),
    check=check,
    elsewhere=native.ALLOCATING,
    symptom_of=("MEM002", "MEM005", "MEM011"),
)
