"""The critical path across ranks as a table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from stepscope.cluster.critical.walk import RankInterval, across_ranks
from stepscope.cluster.job import JobParts
from stepscope.model.schema import Column, TableSchema, fraction, ns, text
from stepscope.model.table import Table
from stepscope.model.tables import RANK

CLUSTER_CRITICAL_PATH: Final = TableSchema(
    "cluster_critical_path",
    "The chain of work over all ranks that sets when a step ends, in time order: the chosen step, of several or "
    "without a choice the median one. Its intervals tile the step, from its first start on any rank to its last end on "
    "any. The path goes over to the rank that came last to a collective, or to the other rank of a send or receive if "
    "that came later: what others did meanwhile costs nothing.",
    (
        RANK,
        text("part", "What takes most of it, as in `critical_path`. `unknown`: before the step of this rank begins, on "
             "a rank that is not at hand, or not recorded."),
        text("detail", "What within the part, likewise.", nullable=True),
        ns("start_ns", "Start, since the step's first start on any rank."),
        ns("total_ns", "Length."),
        Column("from_rank", "int32", "Rank from which the path comes to this one: it came last, and this one waited "
               "for it; null where the path was on this rank before.", "", True),
        ns("waited_ns", "How long this rank waited for that one; null where there is none.", nullable=True),
        ns("part_ns", "How much of total_ns `part` takes; the rest is short work of other kinds."),
        text("collective", "Kind of collective, or send or send_recv; null for others.", nullable=True),
        text("group", "Its process group.", nullable=True),
        fraction("share", "total_ns as a share of the step."),
        Column("step", "int32", "Step, as in `steps`."),
        text("name", "Event that takes longest in it, or to which the host's work in it leads; null for none.",
             nullable=True),
    ),
)  # fmt: skip


def cluster_critical_path(job: JobParts) -> Table:
    """The path of the step that was looked at; empty where no rank has it."""
    shift = _shifts(job)
    paths = {rank: path for rank, path in job.paths.items() if rank in shift}
    if not paths:
        return Table.empty(CLUSTER_CRITICAL_PATH)
    found = across_ranks(paths, shift)
    step, whole = next(iter(paths.values())).step, found[-1].end
    return Table.from_rows(CLUSTER_CRITICAL_PATH, (_row(step, whole, one) for one in found))


def _row(step: int, whole: int, one: RankInterval) -> tuple[object, ...]:
    length = one.end - one.start
    told = (None, None) if one.call is None else (one.call.collective, one.call.group)
    return (
        one.rank, one.part, one.detail, one.start, length, one.from_rank, one.waited_ns, one.part_ns, *told,
        length / whole, step, one.name,
    )  # fmt: skip


def _shifts(job: JobParts) -> Mapping[int, int]:
    """What is added to times of each rank; without ranks whose clock can't be compared."""
    if len(job.paths) == 1:
        return dict.fromkeys(job.paths, 0)
    offsets = job.clocks.offsets()
    origins = {rank: origin for rank in job.paths if (origin := job.recordings[rank].origin_unix_ns) is not None}
    return {rank: origin - (offsets[rank][1] or 0) for rank, origin in origins.items()}
