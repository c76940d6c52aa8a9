"""Ranks have different amounts of work.

## What it finds
Ranks that wait for others which have more to compute: longer sequences, more tokens for their experts, a larger
embedding table, an additional layer; or which wait longer for their batches.

## Why it matters
Each step takes as long as on the rank with most work. All others lose the time that they wait, and a faster device
would not help.

## How it decides
The work of each rank and step is the FLOPs of its operators where shapes are recorded, else the blocks of its kernels
(`cluster.work`), held against the ranks of the same stage. Over the steps, the largest must be `min_ratio` times the
mean, and the waits of all ranks, exposed and per step, must come to `min_wait` of the step on average
(`cluster.waited_ns`); or a rank that the others wait for (as in CLU001) has `min_ratio` times the work of its like. The
price is the mean of what the ranks would save on their dependency graphs without waiting, since even work is the mean,
not the least. Late ranks that mostly idle longer, and wait longer for their batches by half of that or more, are
reported as well, at the least that one of the waiting ranks would save.

## What to try
Distribute by cost instead of count: tokens instead of samples, batches of similar length on all ranks at the same
step. Balance experts; split large tables by their use; move layers between stages.

## Known limits
Needs the recordings of at least half of the ranks of a group over the same steps. An exchange of tokens that takes
longer because one rank gets more of them is not in the price, which counts waiting alone. Stages of a pipeline that
have different amounts of work are the subject of CLU006.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from statistics import mean

import numpy as np

from stepscope.language import said
from stepscope.model.amounts import duration, percent
from stepscope.rules.cluster.lateness import MIN_RATIO, MIN_WAIT, READS, LateOnes, late_by_cause, times_of_ranks
from stepscope.rules.finding import Action
from stepscope.rules.host_advice import BALANCE_EXPERTS
from stepscope.rules.rule import Draft, Limits, Rule
from stepscope.signals import Signals
from stepscope.signals.communication.cluster import gain_ns, waited_share, work
from stepscope.signals.communication.late_ranks import stages
from stepscope.signals.shared.program import program

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
    late = late_by_cause(ranks, limits)
    ratio = max((_imbalance([ranks[rank] for rank in same]) for same in stages(times_of_ranks(ranks))), default=1.0)
    waits = [share for s in ranks.values() if (share := s.maybe(waited_share)) is not None]
    share = mean(waits) if waits else 0.0
    busiest = late.get("work")
    if busiest is not None or (ratio >= limits["min_ratio"] and share >= limits["min_wait"]):
        yield _uneven_work(ranks, ratio, share, busiest, limits)
    if (idle := late.get("loading")) is not None:
        yield _uneven_loading(idle, limits)


def _imbalance(same: Sequence[Signals]) -> float:
    """The largest amount of work over the mean of ranks that do the same, as a mean over the steps."""
    amounts = [found.amount for s in same if (found := s.maybe(work)) is not None]
    steps = min((amount.size for amount in amounts), default=0)
    # A rank of which only sums are at hand has no kernels whose work is known: that is not none.
    if len(amounts) < len(same) or not steps or not all(amount[:steps].any() for amount in amounts):
        return 1.0
    table = np.stack([amount[:steps] for amount in amounts])
    usual = table.mean(axis=0)
    return float((table.max(axis=0)[usual > 0] / usual[usual > 0]).mean()) if (usual > 0).any() else 1.0


def _uneven_work(
    ranks: Mapping[int, Signals], ratio: float, share: float, late: LateOnes | None, limits: Limits
) -> Draft:
    gains = {rank: s.maybe(gain_ns) or 0 for rank, s in ranks.items()}
    order = sorted(gains, key=lambda rank: (gains[rank], rank))
    seen = said(
        "The rank with most work has {ratio:.2f} times the mean to compute in each step, and the ranks wait for each "
        "other for {share} of the step.",
        ratio=ratio, share=percent(share),
    )  # fmt: skip
    if late is not None:
        seen = said(
            "{waiting}, which {en_has} {work:.2f} times as much to compute as they.{beside}",
            waiting=late.waiting, en_has="has" if len(late.ranks) == 1 else "have", work=late.first.work,
            beside=late.beside,
        )  # fmt: skip
        order = [*late.numbers, *(rank for rank in order if rank not in late.numbers)]
    return Draft(
        title="Ranks have different amounts of work",
        summary=seen,
        actions=(*(BALANCE_EXPERTS if _has_experts(ranks) else ()), _BY_COST),
        cost_ns=int(mean(gains.values())),
        confidence=0.85 if late is None else min(0.85, late.confidence),
        rows=tuple({"table": "step_budget", "where": {"rank": rank}} for rank in order[:4]),
        numbers={"work_ratio": ratio, "waited_share": share, **limits},
        always=late is not None,
        ranks=tuple(order),
        late=late.numbers if late is not None else (),
    )


def _has_experts(ranks: Mapping[int, Signals]) -> bool:
    """Whether the ranks have experts of their own, which get as many tokens as the router sends them."""
    told = ranks[min(ranks)].maybe(program)
    return told is not None and "expert" in told.parallel


def _uneven_loading(late: LateOnes, limits: Limits) -> Draft:
    return Draft(
        title="One rank waits longer for its batches",
        summary=said(
            "{waiting}, which {en_waits} {loading} longer for {en_its_batch} than they do.{beside}",
            waiting=late.waiting, en_waits="waits" if len(late.ranks) == 1 else "wait",
            loading=duration(late.first.loading_ns),
            en_its_batch="its batch" if len(late.ranks) == 1 else "their batches", beside=late.beside,
        ),
        actions=(_LOADERS, _BY_COST),
        cost_ns=late.gain_ns,
        confidence=min(0.8, late.confidence),
        rows=tuple({"table": "dataloader", "where": {"rank": rank}} for rank in late.numbers[:4]),
        numbers={"loading_ns": late.first.loading_ns, "waited_share": late.first.found.share, **limits},
        always=True,
        ranks=(*late.numbers, *late.like),
        late=late.numbers,
        key="loading",
    )  # fmt: skip


RULE = Rule(
    "CLU004",
    "uneven-load",
    thresholds=(MIN_WAIT, MIN_RATIO),
    job_check=job_check,
    reads=(*READS, waited_share),
    symptom_of=("DAT001", "DAT005", "HST005", "HST012"),
)
