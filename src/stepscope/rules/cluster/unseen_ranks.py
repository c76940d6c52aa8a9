"""All recorded ranks wait for ranks that were not recorded.

## What it finds
Waiting in collectives on every rank at hand, in a job that has more ranks.

## Why it matters
The time is lost on all ranks, and no change on the recorded ones recovers it, since these are the ones that wait.
Overlapping the collectives does not help either: the wait takes the time, not the transfer.

## How it decides
The communication library's records distinguish waiting from transfer. Waiting that all recorded ranks do in the same
collectives (`cluster.unseen_ns`) must reach `min_wait` of the step, and the job must have ranks that were not recorded
(`cluster.ranks_missing`): one of these arrived after all recorded ones. Where the library records which rank a wait was
for (`awaited.peers`), the missing rank with most of the waiting is named. The price is the least that one of the
recorded ranks would save on its dependency graph without waiting.

## What to try
Record the same steps on all ranks and open them together: the late one is then named, with what is different about it.

## Known limits
A step right after a pause of one rank (a checkpoint, an evaluation, the profiler's own start) waits once, for that.
Recordings that do not distinguish transfers from waiting are the subject of REC006.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from stepscope.language import listing, said
from stepscope.model.amounts import duration, percent
from stepscope.model.errors import MissingInputError
from stepscope.rules.finding import Action
from stepscope.rules.rule import Draft, Limits, Rule, Threshold
from stepscope.signals import Signals
from stepscope.signals.communication.awaited import peers
from stepscope.signals.communication.cluster import gain_ns, ranks_missing, unseen_ns, unseen_share

_RECORD = Action(
    "Record the same steps on all ranks, and open them together: the late one is named then",
    before="with profile(...) if rank == 0 else nullcontext():",
    after="with profile(...):  # on every rank, into one folder",
    page="slow-ranks",
)
_LOOK = Action(
    "Look for what one of the missing ranks does and the others don't: loading from a slower disk, "
    "logging, checkpoints, evaluation",
    page="slow-ranks",
)
#: A rank is named if the waits for it make up this part of the waiting, together with those that came as late.
_MOST = 0.5
_AS_LATE = 0.8
_FEW = 2


def job_check(ranks: Mapping[int, Signals], limits: Limits) -> Iterator[Draft]:
    """Look for waiting that even the last of the recorded ranks does."""
    waits = {rank: share for rank, s in ranks.items() if (share := s.maybe(unseen_share)) is not None}
    if not waits:
        raise MissingInputError("the ranks have no collectives on their devices", hint="record whole steps of the job")
    last = min(waits, key=lambda rank: waits[rank])
    missing = [s.maybe(ranks_missing) for s in ranks.values()]
    if waits[last] < limits["min_wait"] or not any(missing):
        return
    named = _named(ranks, waits)
    # Steps of ranks differ in length: what the one waits least in time another may wait least as a share.
    shortest = min(ranks[rank](unseen_ns) for rank in waits)
    every, waited, of_step = _every(len(waits)), duration(shortest), percent(waits[last])
    gains = {rank: gain for rank in waits if (gain := ranks[rank].maybe(gain_ns)) is not None}
    least = min(gains, key=lambda rank: gains[rank], default=last)
    yield Draft(
        title=said("The recorded ranks wait for {listed}", listed=_listed(named))
        if named
        else said("The recorded ranks wait for others"),
        summary=said(
            "{every} at least {waited} per step ({share}) in collectives, most of it for {listed}, which {en_was} not "
            "recorded.",
            every=every, waited=waited, share=of_step, listed=_listed(named),
            en_was="was" if len(named) == 1 else "were",
        )
        if named
        else said(
            "{every} at least {waited} per step ({share}) in collectives before transfers start: a rank that was not "
            "recorded arrives later.",
            every=every, waited=waited, share=of_step,
        ),
        actions=(_RECORD, _look(named)),
        cost_ns=gains.get(least),
        confidence=0.9 if named else 0.8,
        rows=tuple({"table": "step_budget", "where": {"rank": rank}} for rank in list(waits)[:4]),
        numbers={unseen_share.name: waits[last], **limits},
        # Its step is what the price is a share of.
        ranks=(least, *(rank for rank in waits if rank != least)),
    )  # fmt: skip


def _named(ranks: Mapping[int, Signals], waits: Mapping[int, float]) -> tuple[int, ...]:
    """The rank, or the few, that most of the waiting was for; none if unknown, or if one of them was recorded."""
    awaited: Counter[int] = Counter()
    for rank in waits:
        awaited.update(ranks[rank].maybe(peers) or {})
    if not awaited:
        return ()
    longest = max(awaited.values())
    late = tuple(sorted(rank for rank, ns in awaited.items() if ns >= _AS_LATE * longest))
    most = max(ranks[rank](unseen_ns) for rank in waits)
    told = longest >= _MOST * len(waits) * most and len(late) <= _FEW and not set(late) & set(ranks)
    return late if told else ()


def _listed(ranks: tuple[int, ...]) -> str:
    numbers = listing(map(str, ranks), " and ")
    return said("ranks {numbers}", numbers=numbers) if len(ranks) > 1 else said("rank {number}", number=numbers)


def _look(named: tuple[int, ...]) -> Action:
    if not named:
        return _LOOK
    return Action(
        said(
            "Look at what {listed} did in these steps: loading from a slower disk, logging, checkpoints, "
            "other work on its cores. If another recording of the job names another rank, it is jitter of "
            "hosts or loaders, not a slow device",
            listed=_listed(named),
        ),
        page="slow-ranks",
    )


def _every(ranks: int) -> str:
    return {1: said("The rank at hand waits"), 2: said("Both ranks at hand wait")}.get(
        ranks, said("All {ranks} ranks at hand wait", ranks=ranks)
    )


RULE = Rule(
    "CLU005",
    "unseen-ranks",
    thresholds=(
        Threshold(
            "min_wait", 0.03, "share", "Least share to which msprof-analyze gives communication medium priority."
        ),
    ),
    job_check=job_check,
    reads=(unseen_ns, unseen_share, gain_ns, ranks_missing, peers),
)
