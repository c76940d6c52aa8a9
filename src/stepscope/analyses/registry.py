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
    "serving",
    "step_budget",
    "coverage",
    "phases",
    "idle_causes",
    "critical_path",
    "comm_overlap",
    "collectives",
    "links",
    "roofline",
    "mfu",
    "tensor_cores",
    "occupancy",
    "device_utilisation",
    "kernels",
    "operators",
    "launches",
    "queue_times",
    "queue_depth",
    "short_kernels",
    "graphs",
    "api_calls",
    "annotations",
    "projected_ranges",
    "os_runtime",
    "copies",
    "synchronisations",
    "dataloader",
    "modules",
    "recorded_summary",
    "recorded_totals",
    "memory_timeline",
    "memory_peaks",
    "memory_steps",
    "memory_components",
    "memory_churn",
    "memory_snapshot",
    "memory_snapshot_timeline",
    "memory_snapshot_peaks",
    "memory_snapshot_spikes",
    "memory_snapshot_unreturned",
    "memory_snapshot_churn",
    "memory_snapshot_flushes",
    "memory_snapshot_oom",
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
