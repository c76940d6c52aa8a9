"""Tables of two jobs side by side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from stepscope.comparison.noise.ratio import CONFIDENCE, ratio_interval
from stepscope.comparison.parts.ratios import ratio_columns, ratio_values
from stepscope.jobs.matching import matched_ranks
from stepscope.jobs.side import ComparedJob, JobRank
from stepscope.model.schema import Column, TableSchema, ns, text
from stepscope.model.table import Table

_PARTS: Final = ("step_ns", "compute_ns", "transfer_ns", "exposed_copy_ns", "idle_ns", "waited_ns")
_SAID: Final = {
    "step_ns": "Its mean typical step",
    "compute_ns": "Computing, as in `step_budget`",
    "transfer_ns": "Exposed communication that is no waiting, as far as that is known",
    "exposed_copy_ns": "Copies without computing or communication",
    "idle_ns": "The rest",
    "waited_ns": "Waiting for other ranks, as in `slow_ranks`",
}
_OWN: Final = (
    ns("base_own_ns", "Its mean typical step without what it waits for others; where nothing tells waiting, without "
       "exposed communication. Null where the side has no such rank.", nullable=True),
    ns("new_own_ns", "The same of the new one.", nullable=True),
    *ratio_columns("base_own_ns", "new_own_ns", "between steps"),
)  # fmt: skip
_BOTH: Final = tuple(
    ns(f"{side}_{name}", f"{_SAID[name]}, {words}; null where it is not known.", nullable=True)
    for name in _PARTS
    for side, words in (("base", "of the base"), ("new", "of the new one"))
)
JOB_RANKS: Final = TableSchema(
    "job_ranks",
    "Ranks of two jobs beside each other, those whose own time differs most first.",
    (
        text("match", "rank: both jobs have the same ranks in the same stages; place: the same place among those of a "
             "stage, or of the job; none: no counterpart."),
        Column("base_rank", "int32", "Rank of the base; null where it has none.", "", True),
        Column("new_rank", "int32", "Rank of the new one; null where it has none.", "", True),
        Column("stage", "int32", "Stage of a pipeline, from 0 on; null without one.", "", True),
        *_OWN,
        *_BOTH,
    ),
)  # fmt: skip
JOB_WORST: Final = TableSchema(
    "job_worst",
    "The worst and the typical rank of each job, in all and by stage. The worst one takes longest without what it "
    "waits for others: these wait for it. The typical one is their median.",
    (
        Column("stage", "int32", "Stage of a pipeline; null for the whole job.", "", True),
        text("which", "worst or typical."),
        Column("base_ranks", "int32", "Ranks of the base among which it is chosen.", "count"),
        Column("new_ranks", "int32", "The same of the new one.", "count"),
        Column("base_rank", "int32", "The rank of the base.", ""),
        Column("new_rank", "int32", "The rank of the new one.", ""),
        text("most", "What differs most between the two: compute, transfer, exposed_copy or idle."),
        *_OWN,
        *_BOTH,
    ),
)
JOB_GROUPS: Final = TableSchema(
    "job_groups",
    "Process groups of two jobs by what they are for: exposed communication per step in them, on the mean rank and on "
    "the one that has most.",
    (
        text("purpose", "As `parallelism` of `parallel_groups`; else the size of groups of unknown purpose."),
        Column("base_groups", "int32", "Groups of the base.", "count"),
        Column("new_groups", "int32", "Groups of the new one.", "count"),
        ns("base_ns", "Exposed time per step of the mean rank of the base; null where it has no such group.",
           nullable=True),
        ns("new_ns", "The same of the new one.", nullable=True),
        ns("base_most_ns", "The same of the rank that has most.", nullable=True),
        ns("new_most_ns", "The same of the new one.", nullable=True),
    ),
)  # fmt: skip
JOB_PAIR_TABLES: Final = (JOB_WORST, JOB_RANKS, JOB_GROUPS)


def job_tables(base: ComparedJob, new: ComparedJob, confidence: float = CONFIDENCE) -> dict[str, Table]:
    """The tables of two jobs; without any where a job has no rank with typical steps."""
    if not base.ranks or not new.ranks:
        return {}
    pairs = matched_ranks(base, new)
    pairs.sort(key=lambda pair: -abs(_own(pair[1]) - _own(pair[2])) if pair[1] and pair[2] else 1)
    ranks = [
        (match, a and a.rank, b and b.rank, _stage(a or b), *_values(a, b, confidence)) for match, a, b in pairs
    ]  # fmt: skip
    worst = _worst(None, list(base.ranks.values()), list(new.ranks.values()), confidence)
    if set(base.stages) == set(new.stages):
        for stage, mine in base.stages.items():
            worst += _worst(stage, mine, new.stages[stage], confidence)
    tables = {
        JOB_WORST.name: Table.from_rows(JOB_WORST, worst),
        JOB_RANKS.name: Table.from_rows(JOB_RANKS, ranks),
    }
    groups = [_group(name, base, new) for name in sorted({*base.groups, *new.groups})]
    return tables | ({JOB_GROUPS.name: Table.from_rows(JOB_GROUPS, groups)} if groups else {})


def _worst(
    stage: int | None, base: Sequence[JobRank], new: Sequence[JobRank], confidence: float
) -> list[tuple[object, ...]]:
    sides = [sorted(one, key=lambda rank: (rank.own_ns, rank.rank)) for one in (base, new)]
    found: list[tuple[object, ...]] = []
    for which, at in (("worst", -1), ("typical", None)):
        a, b = (one[(len(one) - 1) // 2 if at is None else at] for one in sides)
        most = max(_PARTS[1:5], key=lambda name: abs(getattr(b.times, name) - getattr(a.times, name)))
        found.append(
            (stage, which, len(base), len(new), a.rank, b.rank, most.removesuffix("_ns"), *_values(a, b, confidence))
        )
    return found


def _values(base: JobRank | None, new: JobRank | None, confidence: float) -> tuple[object, ...]:
    """The values of `_OWN` and `_BOTH`."""
    found = None
    if base and new and any(base.own) and any(new.own):
        found = ratio_interval(base.own, new.own, confidence)
    own = (base and base.own_ns, new and new.own_ns)
    both = [getattr(one.times, name) if one else None for name in _PARTS for one in (base, new)]
    return (*own, *ratio_values(found), *both)


def _group(name: str, base: ComparedJob, new: ComparedJob) -> tuple[object, ...]:
    numbers, means, most = [], [], []
    for job in (base, new):
        number, times = job.groups.get(name, (0, {}))
        numbers.append(number)
        means.append(sum(times.values()) // len(times) if times else None)
        most.append(max(times.values(), default=None))
    return (name, *numbers, *means, *most)


def _own(rank: JobRank | None) -> int:
    return rank.own_ns if rank is not None else 0


def _stage(rank: JobRank | None) -> int | None:
    return rank.times.place if rank is not None else None
