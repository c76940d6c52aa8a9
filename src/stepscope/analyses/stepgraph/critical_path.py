"""The critical path of each step: the chain of work and waiting from its end back to its start.

Work that is not on the chain overlaps with it, and costs nothing.
"""

from __future__ import annotations

from collections import defaultdict

import numpy as np
from numpy.typing import NDArray

from stepscope.analyses.registry import Analysis
from stepscope.analyses.stepgraph.graph import StepGraph
from stepscope.analyses.stepgraph.labels import Label, labelled
from stepscope.analyses.stepgraph.path import critical_segments
from stepscope.model.intervals import Times
from stepscope.model.schema import Column, TableSchema, count, fraction, ns, text
from stepscope.model.table import Table
from stepscope.model.tables import RANK
from stepscope.model.trace import Trace

CRITICAL_PATH = TableSchema(
    "critical_path",
    "One row per step, part of its critical path and detail; `step` is null for all these steps together. The rows "
    "of a step add up to its `total_ns` in `step_budget`. Of long recordings, only some typical steps are looked at.",
    (
        RANK,
        Column("step", "int32", "Step, as in `steps`; null for all looked at.", "", True),
        text(
            "part",
            "kernel, communication, copy, host (not launched yet), launch (launch calls, and from a launch to its "
            "start), data (the loader), synchronisation (blocking calls themselves), allocation, profiler, dependency "
            "(from the end of an activity to the start of what waits for it on another queue) or unknown.",
        ),
        text(
            "detail",
            "What within the part: the class of kernels, the direction of copies, whether a collective moved data or "
            "waited for other ranks, what the host did; null where there is no further split.",
            nullable=True,
        ),
        ns("total_ns", "Time on the critical path."),
        fraction("share", "total_ns as a share of the step, or of all these steps."),
        count("count", "Segments of the path."),
    ),
)


def critical_path(trace: Trace) -> Table:
    """Sum up each step's critical path by label.

    Raises:
        MissingInputError: The recording has neither device work nor host steps.
    """
    built = StepGraph.of(trace).built
    segments = critical_segments(built)
    parts = labelled(trace, built, segments)
    return Table.from_rows(CRITICAL_PATH, _rows(trace.ranks[0], segments.step[parts.segment], parts.took, parts.label))


def _rows(rank: int, step: NDArray[np.int32], took: Times, label: list[Label]) -> list[tuple[object, ...]]:
    """Sums by step and label, and by label alone; the longest first."""
    found: dict[tuple[int, Label], list[int]] = defaultdict(lambda: [0, 0])
    for number, ns_, what in zip(step.tolist(), took.tolist(), label, strict=True):
        if ns_:
            row = found[number, what]
            row[0] += ns_
            row[1] += 1
    sums: dict[tuple[int | None, Label], list[int]] = defaultdict(lambda: [0, 0])
    totals: dict[int | None, int] = defaultdict(int)
    for (number, what), (total, segments) in found.items():
        for key in (number, None):
            sums[key, what][0] += total
            sums[key, what][1] += segments
            totals[key] += total
    order = sorted(sums, key=lambda key: (key[0] is None, key[0] or 0, -sums[key][0], key[1][0], key[1][1] or ""))
    return [
        (rank, number, *what, sums[number, what][0], sums[number, what][0] / totals[number], sums[number, what][1])
        for number, what in order
    ]


ANALYSES = (Analysis(CRITICAL_PATH, critical_path),)
