"""All recorded ranks wait for ranks that were not recorded.

## What it finds
Waiting in collectives on every rank at hand, in a job that has more ranks.

## Why it matters
The time is lost on all ranks, and nothing that is changed on the recorded ones brings it back: they are the ones that
wait. Overlapping the collectives does not help either, since it is not the transfer that takes the time.

## How it decides
The library's own records of its transfers tell waiting from transfer (`cluster.waited_ns`). The recorded rank that
waits least must wait `min_wait` of its step, and the job must have ranks that are not at hand
(`cluster.ranks_missing`): one of these came later than all that were recorded. The price is the least that one of the
recorded ranks would save on its dependency graph without waiting.

## What to try
Record the same steps on all ranks and open them together: the late one is then named, with what is different about it.

## Known limits
A step that was recorded right after a pause of one rank (a checkpoint, an evaluation, the profiler's own start) waits
for that, and only once. Recordings in which transfers are not told from waiting are spoken of by REC006.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from stepscope.model.amounts import duration, percent
from stepscope.model.errors import MissingInputError
from stepscope.rules.finding import Action
from stepscope.rules.rule import Draft, Limits, Rule, Threshold
from stepscope.signals import Signals
from stepscope.signals.cluster import gain_ns, ranks_missing, waited_ns, waited_share

_RECORD = Action(
    "Record the same steps on all ranks, and open them together: the late one is named then",
    before="with profile(...) if rank == 0 else nullcontext():",
    after="with profile(...):  # on every rank, into one folder",
    page="slow-ranks",
)
_LOOK = Action(
    "Look at the ranks that are not here for what one of them does and the others don't: loading from a slower disk, "
    "logging, checkpoints, evaluation",
    page="slow-ranks",
)


def job_check(ranks: Mapping[int, Signals], limits: Limits) -> Iterator[Draft]:
    """Look for waiting that even the last of the recorded ranks does."""
    waits = {rank: share for rank, s in ranks.items() if (share := s.maybe(waited_share)) is not None}
    if not waits:
        raise MissingInputError("the ranks have no collectives on their devices", hint="record whole steps of the job")
    last = min(waits, key=lambda rank: waits[rank])
    missing = [s.maybe(ranks_missing) for s in ranks.values()]
    if waits[last] < limits["min_wait"] or not any(missing):
        return
    gains = [gain for rank in waits if (gain := ranks[rank].maybe(gain_ns)) is not None]
    yield Draft(
        title="The recorded ranks wait for others",
        summary=f"{_every(len(waits))} at least {duration(ranks[last](waited_ns))} per step "
        f"({percent(waits[last])}) in collectives before transfers begin: a rank that was not recorded comes later.",
        actions=(_RECORD, _LOOK),
        cost_ns=min(gains, default=None),
        confidence=0.8,
        rows=tuple({"table": "step_budget", "where": {"rank": rank}} for rank in list(waits)[:4]),
        numbers={waited_share.name: waits[last], **limits},
        ranks=tuple(waits),
    )


def _every(ranks: int) -> str:
    return {1: "The rank at hand waits", 2: "Both ranks at hand wait"}.get(ranks, f"All {ranks} ranks at hand wait")


RULE = Rule(
    "CLU005",
    "unseen-ranks",
    thresholds=(
        Threshold(
            "min_wait", 0.03, "share", "Least share to which msprof-analyze gives communication medium priority."
        ),
    ),
    job_check=job_check,
    reads=(waited_ns, waited_share, gain_ns, ranks_missing),
)
