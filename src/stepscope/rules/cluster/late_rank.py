"""One rank makes the others wait.

## What it finds
A rank for which the others wait in their collectives, and whose lateness is explained by none of a slower device
(CLU001), a slow link (CLU002), a slower host (CLU003), more work or a slower loader (CLU004).

## Why it matters
A synchronous job runs at the pace of its slowest rank, whatever makes it slow: each collective ends when the last rank
has arrived.

## How it decides
Late ranks are those of CLU001: the others must wait `min_wait` of their step for them. A step is as long on all ranks,
so that a rank that waits less does something else longer: it computes, idles, copies or transfers longer than its like,
or begins its steps later. These parts add up to what the others wait; the largest is named with its time, and of idle
time the cause that differs most (`idleness.least_idle`). Where models run on processors and exchange data through gloo
or MPI, only what ends with a collective and has no operator in it counts as waiting (`exchanged.exchanged`), and the
time outside of operators takes the place of idle time. The price is the least that one of those that wait would save
on its dependency graph without waiting, and at most what the one waits for it that waits least. Steps that begin later
are the start of the recording, where fewer than three are recorded: what they explain is not in the price.

## What to try
Look at what the rank does and the others don't: logging, checkpoints, evaluation, other processes on its device or its
cores. Open its timeline beside that of a rank that waits.

## Known limits
Needs the recordings of at least half of the ranks of a group, over the same steps; those that are not at hand may be
later still. On processors, unrecorded code that one rank alone runs until a collective ends counts as waiting. In one
recorded step some rank is always the last; record more, to see whether it is the same one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from statistics import median
from typing import Final

from stepscope.language import listing, pattern, said
from stepscope.language.part_words import in_words
from stepscope.model.amounts import duration
from stepscope.model.errors import MissingInputError
from stepscope.rules.cluster import slow_link
from stepscope.rules.cluster.lateness import MIN_WAIT, READS, Late, LateOnes, late_by_cause
from stepscope.rules.cluster.lateness import named as in_numbers
from stepscope.rules.cluster.slow_link import late_by_link, slow_links_of
from stepscope.rules.cluster.slow_rank import compare_device
from stepscope.rules.finding import Action
from stepscope.rules.rule import Draft, Limits, Rule
from stepscope.signals import Signals
from stepscope.signals.communication.cluster import kernels
from stepscope.signals.communication.late_rank import Reason
from stepscope.signals.shared.idleness import least_idle

#: A recording begins at another moment on each rank, which makes one late in its first step.
_STEPS: Final = 3
#: What of its lateness is worth naming beside the largest part.
_PART: Final = 0.25

_TAKES: Final[dict[Reason, str]] = {
    "compute": pattern("it computes {longer} longer than they do, in other kernels or more of them"),
    "host": pattern("its device idles {longer} longer than theirs"),
    "copies": pattern("it copies {longer} longer than they do, with nothing beside it"),
    "link": pattern("its own transfers take {longer} longer than theirs"),
    "start": pattern("its steps begin {longer} later than theirs"),
}
#: The same where only the profiler's sums are at hand: a slower device computes longer, too.
_SUMMED: Final[dict[Reason, str]] = {
    **_TAKES,
    "compute": pattern("it computes {longer} longer than they do, in the same kernels or in more: sums don't tell"),
}
#: The same of a rank whose model runs on the processor.
_ON_PROCESSOR: Final[dict[Reason, str]] = {
    **_TAKES,
    "compute": pattern("its operators take {longer} longer than theirs, or are more"),
    "host": pattern("it spends {longer} longer than they do outside of operators"),
}

_BESIDE: Final = Action(
    "Look at what it does and the others don't: logging, checkpoints, evaluation, other processes on its device or its "
    "cores; open its timeline beside that of a rank that waits",
    after="stepscope view run/   # one lane for each rank",
    page="slow-ranks",
)
_MORE: Final = Action(
    "Record some more steps on all ranks: of one or two, some rank is always the last",
    before="schedule(wait=5, warmup=2, active=1)",
    after="schedule(wait=5, warmup=2, active=8)",
    page="slow-ranks",
    needs=("pytorch",),
)
_LINK: Final = Action(
    "Compare the state of its links and network adapters with those of its neighbours",
    page="slow-ranks",
)


def job_check(ranks: Mapping[int, Signals], limits: Limits) -> Iterator[Draft]:
    """Look for late ranks that no other rule explains."""
    late = _unexplained(ranks, limits)
    if late is None:
        return
    first, few = late.first, late.first.found.steps < _STEPS
    begun = max(first.found.parts["start"], 0) if few else 0
    cost = late.gain_ns - begun
    worth = cost >= limits["min_wait"] * first.found.wait_ns / first.found.share
    slow = ranks[first.found.rank]
    unseen = not slow.maybe(kernels) and not first.found.on_processor
    looks: tuple[Action, ...] = (_LINK if first.found.reason == "link" else _BESIDE,)
    if unseen and first.found.reason == "compute":
        looks = (compare_device(slow), *looks)
    yield Draft(
        title="One rank makes the others wait",
        summary=said(
            "{waiting}: {takes}{idle}.{start}{beside}",
            waiting=late.waiting, takes=_takes(late, unseen), idle=_idle(ranks, first), start=_start(begun, worth),
            beside=late.beside,
        ),
        actions=(*looks, _MORE) if few else looks,
        cost_ns=cost if worth else None,
        taken_ns=None if worth else first.found.wait_ns,
        waiting=not worth,
        confidence=0.8 * late.confidence,
        rows=tuple({"table": "slow_ranks", "where": {"rank": rank}} for rank in late.numbers[:4]),
        numbers=_numbers(late, limits),
        always=True,
        ranks=(*late.numbers, *late.like),
        late=late.numbers,
    )  # fmt: skip


def _unexplained(ranks: Mapping[int, Signals], limits: Limits) -> LateOnes | None:
    """Late ranks that are not the subject of another rule."""
    late = late_by_cause(ranks, limits).get("")
    if late is None:
        return None
    try:
        links = slow_links_of(ranks, {one.name: one.default for one in slow_link.LIMITS})
    except MissingInputError:
        return late
    explained = late_by_link(ranks, links)
    left = tuple(one for one in late.ranks if one.found.rank not in explained)
    return LateOnes(left) if left else None


def _numbers(late: LateOnes, limits: Limits) -> dict[str, float]:
    parts = {f"{part}_ns": ns for part, ns in late.first.found.parts.items()}
    return {"waited_share": late.first.found.share, **parts, **limits}


def _takes(late: LateOnes, unseen: bool) -> str:
    """What the first takes longer: the largest part, and others that are worth naming; of kernels that are unseen."""
    found = late.first.found
    order = sorted(found.parts, key=lambda part: -found.parts[part])
    named = [part for part in order if part == order[0] or found.parts[part] >= _PART * found.wait_ns]
    takes = _ON_PROCESSOR if found.on_processor else _SUMMED if unseen else _TAKES
    told = listing((said(takes[part], longer=duration(max(found.parts[part], 0))) for part in named), " and ")
    return told if len(late.ranks) == 1 else said("as for {rank}, {takes}", rank=in_numbers((found.rank,)), takes=told)


def _idle(ranks: Mapping[int, Signals], late: Late) -> str:
    """The cause of idle time that differs most from its like, where that is what it takes longer."""
    if late.found.reason != "host":
        return ""
    mine = _causes(ranks[late.found.rank])
    others = [found for rank in late.found.like if (found := _causes(ranks[rank]))]
    if not mine or not others:
        return ""
    more = {cause: ns - int(median(one.get(cause, 0) for one in others)) for cause, ns in mine.items()}
    first = max(more, key=lambda cause: more[cause])
    if more[first] < late.found.parts["host"] / 2:
        return ""
    return said(" ({first}: {more} longer)", first=in_words(first), more=duration(more[first]))


def _causes(s: Signals) -> dict[str, int]:
    """Idle time per step by cause, ns."""
    found = s.maybe(least_idle)
    return {} if found is None else {cause: ns // max(found.steps, 1) for cause, ns in found.causes.items()}


def _start(begun: int, worth: bool) -> str:
    if not begun:
        return ""
    why = said(" A recording's first collective waits for the rank on which the profiler started last")
    if worth:
        return said("{why}, which is no part of the price.", why=why)
    return said("{why}: whether it is late again isn't known.", why=why)


RULE = Rule(
    "CLU009",
    "late-rank",
    thresholds=(MIN_WAIT,),
    job_check=job_check,
    reads=(*READS, *slow_link.READS, least_idle),
)
