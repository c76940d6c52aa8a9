"""Ranks have different amounts of work.

## What it finds
Ranks that wait for others which have more to compute: longer sequences, more tokens for their experts, a larger
embedding table, an additional layer; or which wait longer for their batches.

## Why it matters
Each step takes as long as on the rank with most work. All others lose the time that they wait, and a faster device
would not help.

## How it decides
The waits of all ranks, exposed and per step, must come to `min_wait` of the step on average (`cluster.waited_ns`). The
work of each rank and step is the FLOPs of its operators where shapes are recorded, else the blocks of its kernels
(`cluster.work`): over the steps, the largest must be `min_ratio` times the mean of the ranks. The price is the mean of
what the ranks would save on their dependency graphs without waiting, since even work is the mean, not the least. Late
ranks with as much work as the others that wait `min_wait` of the step longer for their batches are reported as well,
at the least that one of the waiting ranks would save.

## What to try
Distribute by cost instead of count: tokens instead of samples, batches of similar length on all ranks at the same
step. Balance experts; split large tables by their use; move layers between stages.

## Known limits
Needs the recordings of all ranks of a group over the same steps. An exchange of tokens that takes longer because one
rank gets more of them is not in the price, which counts waiting alone. Pipelines wait by their nature; ranks of
different stages are compared only where they share a group.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from statistics import mean

import numpy as np

from stepscope.model.amounts import duration, percent
from stepscope.rules.cluster.lateness import MIN_RATIO, MIN_WAIT, READS, Late, late_ranks
from stepscope.rules.finding import Action
from stepscope.rules.rule import Draft, Limits, Rule
from stepscope.signals import Signals
from stepscope.signals.communication.cluster import gain_ns, waited_share, work

_BY_COST = Action(
    "Distribute by cost instead of count, and give all ranks batches of similar length at the same step",
    before="sampler = DistributedSampler(dataset)",
    after="sampler = LengthGroupedSampler(lengths, num_replicas=world_size, rank=rank, max_tokens=16_384)",
    page="uneven-load",
)
_LOADERS = Action(
    "Give the slow rank's loader what the others have: workers, cores, a disk as near",
    page="data-loading",
)


def job_check(ranks: Mapping[int, Signals], limits: Limits) -> Iterator[Draft]:
    """Compare the work of the ranks, and how long they wait for their batches."""
    late = late_ranks(ranks, limits)
    ratio = _imbalance(ranks)
    waits = [share for s in ranks.values() if (share := s.maybe(waited_share)) is not None]
    if ratio >= limits["min_ratio"] and mean(waits) >= limits["min_wait"]:
        yield _uneven_work(ranks, ratio, mean(waits), late, limits)
    elif late is not None and late.loading_ns >= limits["min_wait"] * late.wait_ns / late.share:
        yield _uneven_loading(late, limits)


def _imbalance(ranks: Mapping[int, Signals]) -> float:
    """The largest amount of work over the mean of the ranks, as a mean over the steps."""
    amounts = [found.amount for s in ranks.values() if (found := s.maybe(work)) is not None]
    steps = min((amount.size for amount in amounts), default=0)
    # A rank of which only sums are at hand has no kernels whose work is known: that is not none.
    if len(amounts) < len(ranks) or not steps or not all(amount[:steps].any() for amount in amounts):
        return 1.0
    table = np.stack([amount[:steps] for amount in amounts])
    usual = table.mean(axis=0)
    return float((table.max(axis=0)[usual > 0] / usual[usual > 0]).mean()) if (usual > 0).any() else 1.0


def _uneven_work(ranks: Mapping[int, Signals], ratio: float, share: float, late: Late | None, limits: Limits) -> Draft:
    gains = {rank: s.maybe(gain_ns) or 0 for rank, s in ranks.items()}
    whom = f" {late.names.capitalize()} come{'s' * (len(late.ranks) == 1)} last." if late else ""
    order = sorted(gains, key=lambda rank: (gains[rank], rank))
    return Draft(
        title="Ranks have different amounts of work",
        summary=f"The rank with most work has {ratio:.2f} times the mean to compute in each step, and the ranks wait "
        f"for each other for {percent(share)} of the step.{whom}",
        actions=(_BY_COST,),
        cost_ns=int(mean(gains.values())),
        confidence=0.85,
        rows=tuple({"table": "step_budget", "where": {"rank": rank}} for rank in order[:4]),
        numbers={"work_ratio": ratio, "waited_share": share, **limits},
        ranks=tuple(order),
    )


def _uneven_loading(late: Late, limits: Limits) -> Draft:
    return Draft(
        title="One rank waits longer for its batches",
        summary=f"The others wait {duration(late.wait_ns)} per step ({percent(late.share)}) for {late.names}, which "
        f"waits {duration(late.loading_ns)} longer for its batch than they do.",
        actions=(_LOADERS, _BY_COST),
        cost_ns=late.gain_ns,
        confidence=0.8,
        rows=tuple({"table": "dataloader", "where": {"rank": rank}} for rank in late.ranks[:4]),
        numbers={"loading_ns": late.loading_ns, "waited_share": late.share, **limits},
        ranks=(*late.ranks, *late.others),
        key="loading",
    )


RULE = Rule(
    "CLU004",
    "uneven-load",
    thresholds=(MIN_WAIT, MIN_RATIO),
    job_check=job_check,
    reads=READS,
    symptom_of=("DAT001", "DAT005", "HST005", "HST012"),
)
