"""Every analysis, in the order in which reports show them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Final

import pyarrow as pa

from stepscope.model.errors import MissingInputError
from stepscope.model.process.footprint import give_back_rank
from stepscope.model.schema import TableSchema
from stepscope.model.table import Table
from stepscope.model.trace import Trace

#: Modules of this package; each defines `ANALYSES`, a tuple of `Analysis`.
MODULES: Final[tuple[str, ...]] = (
    "program",
    "serving.serving",
    "serving.serving_roles",
    "serving.serving_times",
    "steps.throughput",
    "steps.step_budget",
    "steps.coverage",
    "steps.phases",
    "idle.idle_causes",
    "stepgraph.critical_path",
    "communication.comm_overlap",
    "communication.collectives",
    "communication.collective_calls",
    "communication.links",
    "communication.packet_sizes",
    "communication.link_rates",
    "kernels.roofline",
    "kernels.mfu",
    "kernels.tensor_cores",
    "kernels.occupancy",
    "kernels.device_utilisation",
    "kernels.kernels",
    "kernels.core_metrics",
    "kernels.device_samples",
    "kernels.inspected_kernels",
    "kernels.kernel_origins",
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
    "host.machine_use",
    "copies.copies",
    "host.synchronisations",
    "host.dataloader",
    "host.modules",
    "steps.recorded_summary",
    "steps.recorded_totals",
    "memory.memory_timeline",
    "memory.memory_peaks",
    "memory.memory_holders",
    "memory.memory_steps",
    "memory.memory_components",
    "memory.static_memory",
    "memory.memory_operators",
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


def table_of(
    analysis: Analysis, whole: Trace, within: Trace | None = None, steps: Sequence[int] | None = None
) -> Table:
    """The table of one rank, computed once per trace; reports, rules and `stepscope.Trace.table` share it.

    Tables with a row per step are computed on the whole trace, since a step starts where the work of earlier ones ends,
    and cut to the chosen steps afterwards. All others see the events of the chosen steps only.

    Args:
        analysis: What to ask.
        whole: The trace of one rank.
        within: The same narrowed to `steps`.
        steps: The chosen steps, as in column `step`; None for all.

    Raises:
        MissingInputError: The recording lacks what the analysis needs.
    """
    if steps is None or within is None:
        return whole.once(analysis.run)
    if "step" not in analysis.schema.names:
        return within.once(analysis.run)
    return _rows_of_steps(whole.once(analysis.run), steps)


def over_ranks(trace: Trace, analysis: Analysis) -> Table:
    """The tables of all ranks, one below the other; ranks that lack what the analysis needs have no rows.

    Raises:
        MissingInputError: All of them lack it.
    """
    found: list[pa.Table] = []
    missing: MissingInputError | None = None
    for rank in trace.ranks:
        try:
            found.append(table_of(analysis, trace.rank(rank)).arrow)
        except MissingInputError as error:
            missing = missing or error.without_traceback()
        if len(trace.ranks) > 1:
            give_back_rank()
    if missing is not None and not found:
        raise missing
    return Table.from_arrow(analysis.schema, pa.concat_tables(found))


def _rows_of_steps(table: Table, steps: Sequence[int]) -> Table:
    """The rows of a table whose `step` is among `steps`; it may be a text, as recorded."""
    import pyarrow.compute as pc  # slow to import

    column = table.arrow["step"]
    wanted = pa.array(map(str, steps)) if pa.types.is_string(column.type) else pa.array(steps, pa.int32())
    return Table(table.schema, table.arrow.filter(pc.is_in(column, value_set=wanted)))
