"""The tables about a job's ranks together."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

from stepscope.cluster.clock_offsets import CLOCK_OFFSETS, clock_offsets
from stepscope.cluster.cluster_critical_path import CLUSTER_CRITICAL_PATH, cluster_critical_path
from stepscope.cluster.communication_ranks import COMMUNICATION_RANKS, communication_ranks
from stepscope.cluster.group_steps import GROUP_STEPS
from stepscope.cluster.job import JobParts
from stepscope.cluster.operator_ranks import OPERATOR_RANKS
from stepscope.cluster.parallel_groups import PARALLEL_GROUPS, parallel_groups
from stepscope.cluster.slow_links import SLOW_LINKS, slow_links
from stepscope.cluster.slow_ranks import SLOW_RANKS, slow_ranks
from stepscope.model.schema import TableSchema
from stepscope.model.table import Table


@dataclass(frozen=True, slots=True)
class JobTable:
    """A table about all ranks.

    Attributes:
        schema: Its columns.
        run: Makes it of what is known of the job.
        parts: What it needs of each rank beside its collectives and groups: names in `rank_parts.PARTS`.
    """

    schema: TableSchema
    run: Callable[[JobParts], Table]
    parts: tuple[str, ...] = ()


JOB_TABLES: Final = {
    table.schema.name: table
    for table in (
        JobTable(SLOW_RANKS, slow_ranks, ("times",)),
        JobTable(CLUSTER_CRITICAL_PATH, cluster_critical_path, ("path",)),
        JobTable(SLOW_LINKS, slow_links, ("links", "messages")),
        JobTable(COMMUNICATION_RANKS, communication_ranks),
        JobTable(GROUP_STEPS, lambda job: job.steps.table(), ("steps",)),
        JobTable(OPERATOR_RANKS, lambda job: job.operators.table(), ("operators",)),
        JobTable(PARALLEL_GROUPS, parallel_groups),
        JobTable(CLOCK_OFFSETS, clock_offsets),
    )
}


def parts_for(tables: Iterable[str]) -> tuple[str, ...]:
    """What these tables need of each rank."""
    return tuple(dict.fromkeys(part for name in tables for part in JOB_TABLES[name].parts))


def table_of_part(part: str) -> str:
    """The first table that needs a part of a rank."""
    return next(name for name, table in JOB_TABLES.items() if part in table.parts)
