"""Which ranks make the others wait, how long, and what is different about them."""

from __future__ import annotations

from collections import Counter
from statistics import median
from typing import Final

import numpy as np

from stepscope.analyses.shared.grouping import Groups
from stepscope.cluster.job import JobParts
from stepscope.model.schema import Column, TableSchema, count, flag, fraction, ns, number, text
from stepscope.model.table import Table
from stepscope.model.tables import RANK
from stepscope.signals.communication.late_rank import LateRank
from stepscope.signals.communication.late_ranks import late_ranks, stages

SLOW_RANKS: Final = TableSchema(
    "slow_ranks",
    "Each rank in the mean typical step of its own, the one that others wait for most first. The rank on which a "
    "collective takes least has come last to it: the others wait for it. Collectives match by group and sequence "
    "number, else by order within the step; those that only one rank at hand took part in are not counted. A rank is "
    "held against its like: ranks of the same stage of a pipeline, or all. What it waits itself is not its lateness.",
    (
        RANK,
        text("host", "Its host; null if not recorded.", nullable=True),
        flag("slow", "Whether the others wait for it, as the findings say: its like wait 1 % of the step longer, also "
             "the one that waits least, in three steps, or in all of fewer, and by more than chance."),
        text("reason", "What it mostly takes longer than its like: `compute`; `host`: its device idles, or, on a "
             "processor, no operator runs; `copies`; "
             "`link`: its own transfers; `start`: its steps begin later. Null for others.", nullable=True),
        ns("caused_ns", "Time per step that the others wait for it: what its like wait longer than it; of a rank that "
           "is not slow, no more than they wait in collectives to which it came last. Null where nothing tells.",
           nullable=True),
        count("last", "Collectives in typical steps to which it came last."),
        count("collectives", "Collectives in typical steps that it took part in with others at hand."),
        ns("waited_ns", "Time per step in which it computes nothing and waits, for others in collectives or for other "
           "stages; null where nothing tells.", nullable=True),
        ns("step_ns", "Length of the mean typical step.", nullable=True),
        ns("compute_ns", "Computing, as in `step_budget`; on a processor time in operators.", nullable=True),
        ns("exposed_comm_ns", "Communication without computing; on a processor what ends with a collective and has no "
           "operator in it.", nullable=True),
        ns("exposed_copy_ns", "Copies without either.", nullable=True),
        ns("idle_ns", "The rest.", nullable=True),
        number("compute_ratio", "compute_ns over the median of its like.", nullable=True),
        fraction("idle_excess", "Idle and exposed copies beyond the median of its like, as a share of the step; may "
                 "be negative.", nullable=True, signed=True),
        Column("steps", "int32", "Typical steps.", "count", True),
        Column("stage", "int32", "Its stage in a pipeline, from 0 on; null if it is in none, or not known.", "", True),
        ns("late_compute_ns", "Slow ranks: what it computes longer than the median of its like.", nullable=True,
           signed=True),
        ns("late_host_ns", "Likewise: what its device idles longer.", nullable=True, signed=True),
        ns("late_copies_ns", "Likewise: exposed copies.", nullable=True, signed=True),
        ns("late_link_ns", "Likewise: exposed transfers.", nullable=True, signed=True),
        ns("late_start_ns", "Likewise: what its steps begin later. The five add up to caused_ns.", nullable=True,
           signed=True),
        flag("on_processor", "Whether its model runs on the processor, and it exchanges data through the host; null "
             "where nothing tells.", nullable=True),
    ),
)  # fmt: skip
_NOTHING: Final = (None,) * 5


def slow_ranks(job: JobParts) -> Table:
    """The ranks, the one that others wait for most first."""
    late = late_ranks(job.times)
    awaited, last, part = _awaited(job)
    like = {rank: [one for one in same if one not in late] or same for same in stages(job.times) for rank in same}
    caused = {rank: _caused(rank, job, like[rank], awaited[rank], late.get(rank)) for rank in job.times}
    rows: list[tuple[object, ...]] = []
    for rank in sorted(job.recordings, key=lambda rank: (-(caused.get(rank) or 0), rank not in late, rank)):
        times, found = job.times.get(rank), late.get(rank)
        if times is None:
            rows.append((rank, job.host(rank), False, None, None, last[rank], part[rank], *[None] * 16))
            continue
        others = [job.times[one] for one in like[rank]]
        compute = median(one.compute_ns for one in others)
        idle = median(one.idle_ns + one.exposed_copy_ns for one in others)
        rows.append(
            (
                rank, job.host(rank), found is not None, None if found is None else found.reason, caused[rank],
                last[rank], part[rank], times.waited_ns, times.step_ns, times.compute_ns, times.exposed_comm_ns,
                times.exposed_copy_ns, times.idle_ns, times.compute_ns / compute if compute else None,
                (times.idle_ns + times.exposed_copy_ns - idle) / max(times.step_ns, 1), times.steps, times.place,
                *(_NOTHING if found is None else found.parts.values()), times.on_processor,
            )
        )  # fmt: skip
    return Table.from_rows(SLOW_RANKS, rows)


def _caused(
    rank: int, job: JobParts, like: list[int] | tuple[int, ...], awaited: int, late: LateRank | None
) -> int | None:
    """What others wait for a rank per step, without what it waits itself."""
    if late is not None:
        return late.wait_ns
    times = job.times[rank]
    waits = [ns for one in like if one != rank and (ns := job.times[one].waited_ns) is not None]
    if times.waited_ns is None:
        return None
    longer = int(median(waits)) - times.waited_ns if waits else 0
    return max(min(longer, awaited // max(times.steps, 1)), 0)


def _awaited(job: JobParts) -> tuple[Counter[int], Counter[int], Counter[int]]:
    """By rank: how long the others waited in collectives to which it came last, ns; how many these are, of how many."""
    caused, last, part = Counter[int](), Counter[int](), Counter[int]()
    for (group, _), known in job.collectives.kinds():
        mine = (known.devices > 1) & (known.typical > 0)
        waited = np.maximum(known.total - known.shortest * known.devices, 0)[mine] // (known.devices[mine] - 1)
        each = Groups.by(known.last[mine])
        columns = (known.last[mine][each.first], each.sum(waited), each.count)
        for rank, time, calls in zip(*(column.tolist() for column in columns), strict=True):
            caused[rank] += time
            last[rank] += calls
        for rank, groups in job.called.items():
            if group in groups:
                part[rank] += int(np.count_nonzero(mine))
    return caused, last, part
