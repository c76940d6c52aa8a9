"""Which ranks make the others wait, how long, and what is different about them."""

from __future__ import annotations

from collections import Counter, defaultdict
from statistics import median
from typing import Final

import numpy as np

from stepscope.analyses.shared.grouping import Groups
from stepscope.cluster.job import JobParts
from stepscope.cluster.parallel_groups import parallel_groups
from stepscope.cluster.part import RankTimes
from stepscope.cluster.robust import DEVIATIONS, usual
from stepscope.model.schema import Column, TableSchema, count, flag, fraction, ns, number, text
from stepscope.model.table import Table
from stepscope.model.tables import RANK
from stepscope.signals.communication.held_up import origins

#: What costs less of a step is not worth looking for.
_LEAST: Final = 0.01
#: Noise makes a rank late in one step or another; in so many, or all where there are fewer, hardly ever the same one.
_STEPS: Final = 3
#: From here on msprof-analyze calls computing and idle times of ranks different.
_DIFFERENT: Final = 1.05

SLOW_RANKS: Final = TableSchema(
    "slow_ranks",
    "Each rank in the mean typical step of its own, the one that others wait for most first. The rank on which a "
    "collective takes least has come last to it: the others wait for it. Collectives match by group and sequence "
    "number, else by order within the step; those that only one rank at hand took part in are not counted. Where a "
    "rank comes last because another one of its pipeline holds it up, they wait for that one.",
    (
        RANK,
        text("host", "Its host; null if not recorded.", nullable=True),
        flag("slow", "Whether the others wait for it 1 % of the step or more, on average and in three steps, or in all "
             "of fewer, and much longer than for most ranks (five deviations above the median)."),
        text("reason", "What is different: `compute` takes 5 % longer than on the others; `host`: its device idles or "
             "copies longer, by 1 % of the step; `link or unknown`: neither. Null for others.", nullable=True),
        ns("caused_ns", "Mean time per step that the others of its groups wait for it.", nullable=True),
        count("last", "Collectives in typical steps to which it came last."),
        count("collectives", "Collectives in typical steps that it took part in with others at hand."),
        ns("waited_ns", "Time per step in which it waits for others in collectives.", nullable=True),
        ns("step_ns", "Length of the mean typical step.", nullable=True),
        ns("compute_ns", "Computing, as in `step_budget`.", nullable=True),
        ns("exposed_comm_ns", "Communication without computing.", nullable=True),
        ns("exposed_copy_ns", "Copies without either.", nullable=True),
        ns("idle_ns", "The rest.", nullable=True),
        number("compute_ratio", "compute_ns over the median of all ranks.", nullable=True),
        fraction("idle_excess", "Idle and exposed copies beyond the median of all ranks, as a share of the step; may "
                 "be negative.", nullable=True, signed=True),
        Column("steps", "int32", "Typical steps.", "count", True),
    ),
)  # fmt: skip


def slow_ranks(job: JobParts) -> Table:
    """The ranks, the one that others wait for most first."""
    caused, last, part = _awaited(job)
    _hand_on(caused, job)
    per_step = {rank: sum(caused[rank].values()) // times.steps for rank, times in job.times.items()}
    slow = {rank for rank in _outliers(per_step, job.times) if _repeatedly(caused[rank], job.times[rank])}
    others = [times for rank, times in job.times.items() if rank not in slow] or list(job.times.values())
    compute = median(times.compute_ns for times in others) if others else 0
    idle = median(times.idle_ns + times.exposed_copy_ns for times in others) if others else 0
    rows: list[tuple[object, ...]] = []
    for rank in sorted(job.recordings, key=lambda rank: (-per_step.get(rank, 0), rank)):
        times = job.times.get(rank)
        if times is None:
            rows.append((rank, job.host(rank), False, None, None, last[rank], part[rank], *[None] * 9))
            continue
        ratio = times.compute_ns / compute if compute else None
        excess = (times.idle_ns + times.exposed_copy_ns - idle) / max(times.step_ns, 1)
        rows.append(
            (
                rank, job.host(rank), rank in slow, _reason(ratio, excess) if rank in slow else None, per_step[rank],
                last[rank], part[rank], times.waited_ns, times.step_ns, times.compute_ns, times.exposed_comm_ns,
                times.exposed_copy_ns, times.idle_ns, ratio, excess, times.steps,
            )
        )  # fmt: skip
    return Table.from_rows(SLOW_RANKS, rows)


def _awaited(job: JobParts) -> tuple[dict[int, Counter[int]], Counter[int], Counter[int]]:
    """By rank: by typical step how long the others waited for it in ns; in how many collectives, and of how many."""
    caused, last, part = defaultdict[int, Counter[int]](Counter), Counter[int](), Counter[int]()
    for (group, _), known in job.collectives.kinds():
        mine = (known.devices > 1) & (known.typical > 0)
        waited = (known.total - known.shortest * known.devices)[mine] // (known.devices[mine] - 1)
        ranks, steps = known.last[mine], known.step[mine]
        each = Groups.by(ranks, steps)
        columns = (ranks[each.first], steps[each.first], each.sum(waited), each.count)
        for rank, step, time, calls in zip(*(column.tolist() for column in columns), strict=True):
            caused[rank][step] += time
            last[rank] += calls
        for rank, groups in job.called.items():
            if group in groups:
                part[rank] += int(np.count_nonzero(mine))
    return caused, last, part


def _hand_on(caused: dict[int, Counter[int]], job: JobParts) -> None:
    """Count what ranks wait for another one as waiting for the rank that holds up its pipeline."""
    told = (row for row in parallel_groups(job).records() if row["parallelism"] == "pipeline" and row["size"] > 1)
    pipelines = sorted({tuple(row["ranks"]) for row in told if row["at_hand"] == row["size"]})
    members = Counter(rank for pipe in pipelines for rank in pipe)
    if len(pipelines) < 2 or max(members.values()) > 1:
        return
    own = {rank: times.step_ns - times.exposed_comm_ns for rank, times in job.times.items()}
    for pipe in pipelines:
        waited = [rank for rank in pipe if rank in caused and rank in job.times]
        late = [rank for rank in waited if sum(caused[rank].values()) >= _LEAST * _length(job.times[rank])]
        if not late:
            continue
        first = origins(late, pipelines, own, _LEAST * job.times[late[0]].step_ns)
        for rank in late if first else ():
            if rank not in first:
                caused[first[0]] += caused.pop(rank)


def _length(times: RankTimes) -> int:
    return times.step_ns * times.steps


def _outliers(caused: dict[int, int], times: dict[int, RankTimes]) -> set[int]:
    if len(caused) < 2:
        return set()
    middle, deviation = usual(caused.values())
    return {
        rank
        for rank, value in caused.items()
        if value >= _LEAST * times[rank].step_ns and value > middle + DEVIATIONS * deviation
    }


def _repeatedly(caused: Counter[int], times: RankTimes) -> bool:
    """Whether the others wait for a rank in several of its steps."""
    late = sum(waited >= _LEAST * times.step_ns for waited in caused.values())
    return late >= min(_STEPS, times.steps)


def _reason(compute: float | None, excess: float) -> str:
    if compute is not None and compute >= _DIFFERENT:
        return "compute"
    return "host" if excess >= _LEAST else "link or unknown"
