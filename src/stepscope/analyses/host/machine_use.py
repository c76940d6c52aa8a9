"""How much of the machine was in use while the steps ran: processors, memory, disks, network, devices, the job."""

from __future__ import annotations

from typing import Any

import numpy as np

from stepscope.analyses.registry import Analysis
from stepscope.analyses.shared.machine_samples import machine_series
from stepscope.model.schema import TableSchema, count, flag, number, text
from stepscope.model.table import Table
from stepscope.model.tables import RANK
from stepscope.model.trace import Trace

MACHINE_USE = TableSchema(
    "machine_use",
    "One row per number that was sampled of the machine: of the time after the recorded steps, at most two minutes, "
    "while the profiler was off, where that has five samples; else of the recorded steps.",
    (
        RANK,
        text("subject", "What was measured: `processors`, `core 3`, `disk nvme0n1`, `job`, `device 0`, ..."),
        text("series", "What of it."),
        text("unit", "Of the values, as in `machine`."),
        count("count", "Samples."),
        number("mean", "Mean."),
        number("median", "Median."),
        number("min", "Lowest."),
        number("max", "Highest."),
        flag("profiled", "Whether the profiler was on, which takes processors and time itself."),
    ),
)


def machine_use(trace: Trace) -> Table:
    """Sum up each series of samples.

    Raises:
        MissingInputError: There are no samples, or too few.
    """
    found = trace.once(machine_series)
    rows: list[tuple[Any, ...]] = []
    for subject in sorted(set(found.subject.tolist())):
        mine = found.subject == subject
        for series in sorted(set(found.series[mine].tolist())):
            of_series = mine & (found.series == series)
            value, unit = found.value[of_series], str(found.unit[of_series][0])
            rows.append(
                (
                    trace.ranks[0], subject, series, unit, int(value.size), float(value.mean()),
                    float(np.median(value)), float(value.min()), float(value.max()), not found.apart,
                )
            )  # fmt: skip
    return Table.from_rows(MACHINE_USE, [row for row in rows if row[1] != "recording"])


ANALYSES = (Analysis(MACHINE_USE, machine_use),)
