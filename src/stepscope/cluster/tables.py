"""The tables about a job's ranks together."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from stepscope.cluster.clock_offsets import CLOCK_OFFSETS, clock_offsets
from stepscope.cluster.job import JobParts
from stepscope.cluster.parallel_groups import PARALLEL_GROUPS, parallel_groups
from stepscope.cluster.slow_ranks import SLOW_RANKS, slow_ranks
from stepscope.model.schema import TableSchema
from stepscope.model.table import Table

#: Schema and function of each, by name.
JOB_TABLES: Final[Mapping[str, tuple[TableSchema, Callable[[JobParts], Table]]]] = {
    SLOW_RANKS.name: (SLOW_RANKS, slow_ranks),
    PARALLEL_GROUPS.name: (PARALLEL_GROUPS, parallel_groups),
    CLOCK_OFFSETS.name: (CLOCK_OFFSETS, clock_offsets),
}
