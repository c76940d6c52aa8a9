"""One rank reads the data for all.

## What it finds
A job in which only one rank has a data loader, and broadcasts or scatters what it loaded to the others in every step.

## Why it matters
One process has to read and prepare the batches of all, and its host, its disk and its links become the bottleneck of
the whole job: adding ranks makes it slower. The other ranks have nothing to do until their part arrives.

## How it decides
The recordings of at least two ranks are needed. Exactly one of them waits for a loader, and the others receive at
least `min_part` of the bytes that this rank copies to its device per step by broadcast or scatter
(`broadcasts.broadcasts`, `broadcasts.copied_in`). The price is the mean time per step in which these collectives run
on the other ranks while nothing is computed.

## What to try
Give every rank its own loader over its own part of the data: `DistributedSampler` for datasets, a split by rank and
worker for iterable ones. Where the data lies on one host only, copy it to all before the job starts.

## Known limits
Ranks of one tensor-parallel group need the same batch; that one of them reads it for its group is common there, and
costs little as long as batches are small. A loader that the recording of the other ranks does not show is not seen.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from stepscope.language import said
from stepscope.model.amounts import duration, quantity
from stepscope.model.errors import MissingInputError
from stepscope.rules.finding import Action
from stepscope.rules.rule import Draft, Limits, Rule, Threshold
from stepscope.signals import Signals
from stepscope.signals.copies.broadcasts import broadcasts, copied_in
from stepscope.signals.data.data import wait_ns

_SAMPLER = Action(
    "Let each rank load its own part of the data",
    before="batch = next(batches) if rank == 0 else empty\ndist.broadcast(batch, src=0)",
    after="sampler = DistributedSampler(dataset, num_replicas=world_size, rank=rank, shuffle=True)\n"
    "loader = DataLoader(dataset, batch_size=64, sampler=sampler, num_workers=8)",
    page="data-loading",
)
_SHARDS = Action(
    "Split an iterable dataset by rank and worker",
    after="def __iter__(self):\n    info = torch.utils.data.get_worker_info()\n"
    "    part, parts = rank * info.num_workers + info.id, world_size * info.num_workers\n"
    "    yield from itertools.islice(self.samples(), part, None, parts)",
    page="data-loading",
)


def job_check(ranks: Mapping[int, Signals], limits: Limits) -> Iterator[Draft]:
    """Look for one rank that loads while all others receive."""
    if len(ranks) < 2:
        raise MissingInputError("the recording is of one rank", hint="open the recordings of several ranks together")
    readers = [rank for rank, s in ranks.items() if s.maybe(wait_ns) is not None]
    others = [rank for rank in ranks if rank not in readers]
    if len(readers) != 1:
        return
    received = [found for rank in others if (found := ranks[rank].maybe(broadcasts)) is not None]
    copied = ranks[readers[0]].maybe(copied_in) or 0
    if len(received) < len(others) or not copied:
        return
    least = min(found.bytes for found in received)
    if least < limits["min_part"] * copied:
        return
    exposed = sum(found.exposed_ns for found in received) // len(received)
    yield Draft(
        title="One rank reads the data for all",
        summary=said(
            "Only rank {readers} has a data loader; the others receive {least} per step from it and wait "
            "{exposed} for that.",
            readers=readers[0], least=quantity(least, "bytes"), exposed=duration(exposed),
        ),
        actions=(_SAMPLER, _SHARDS),
        cost_ns=exposed,
        confidence=0.7,
        rows=({"table": "collectives", "where": {"rank": others[0]}},),
        numbers={"received_bytes": least, copied_in.name: copied, "min_part": limits["min_part"]},
        ranks=(*others, readers[0]),
    )  # fmt: skip


RULE = Rule(
    "DAT003",
    "rank-zero-reads",
    thresholds=(
        Threshold(
            "min_part", 0.5, "share", "What is broadcast must be the batch: statistics and seeds are far smaller."
        ),
    ),
    job_check=job_check,
    reads=(wait_ns, broadcasts, copied_in),
)
