"""Every analysis, in the order in which reports show them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Final

import pyarrow as pa

from stepscope.model.schema import TableSchema
from stepscope.model.table import Table
from stepscope.model.trace import Trace

#: Modules of this package; each defines `ANALYSES`, a tuple of `Analysis`.
MODULES: Final[tuple[str, ...]] = (
    "program",
    "steps.serving",
    "steps.step_budget",
    "steps.coverage",
    "steps.phases",
    "idle.idle_causes",
    "stepgraph.critical_path",
    "communication.comm_overlap",
    "communication.collectives",
    "communication.links",
    "kernels.roofline",
    "kernels.mfu",
    "kernels.tensor_cores",
    "kernels.occupancy",
    "kernels.device_utilisation",
    "kernels.kernels",
    "host.operators",
    "host.launches",
    "idle.queue_times",
    "idle.queue_depth",
    "kernels.short_kernels",
    "kernels.graphs",
    "host.api_calls",
    "host.annotations",
    "host.projected_ranges",
    "host.os_runtime",
    "copies.copies",
    "host.synchronisations",
    "host.dataloader",
    "host.modules",
    "steps.recorded_summary",
    "steps.recorded_totals",
    "memory.memory_timeline",
    "memory.memory_peaks",
    "memory.memory_steps",
    "memory.memory_components",
    "memory.memory_churn",
    "snapshots.memory_snapshot",
    "snapshots.memory_snapshot_timeline",
    "snapshots.memory_snapshot_peaks",
    "snapshots.memory_snapshot_spikes",
    "snapshots.memory_snapshot_unreturned",
    "snapshots.memory_snapshot_churn",
    "snapshots.memory_snapshot_flushes",
    "snapshots.memory_snapshot_oom",
)


@dataclass(frozen=True, slots=True)
class Analysis:
    """A question that can be asked of the trace of one rank.

    Attributes:
        schema: The table that answers it; its name is the name of the analysis.
        run: Computes the table; raises `MissingInputError` if the recording lacks what it needs.
    """

    schema: TableSchema
    run: Callable[[Trace], Table]

    @property
    def name(self) -> str:
        """Name of the table."""
        return self.schema.name


@cache
def analyses() -> dict[str, Analysis]:
    """All analyses by name, in order."""
    found: dict[str, Analysis] = {}
    for module in MODULES:
        for analysis in import_module(f"stepscope.analyses.{module}").ANALYSES:
            if analysis.name in found:
                raise ValueError(f"two analyses are called {analysis.name}")
            found[analysis.name] = analysis
    return found


def over_ranks(trace: Trace, analysis: Analysis) -> Table:
    """The analysis of every rank, one below the other."""
    tables = [analysis.run(trace.rank(rank)).arrow for rank in trace.ranks]
    return Table.from_arrow(analysis.schema, pa.concat_tables(tables))
