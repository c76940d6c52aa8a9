"""Values of each metric by step: what intervals and gates rest on."""

from __future__ import annotations

from collections import defaultdict
from typing import Final

from stepscope.analyses.idle.idle_causes import idle_causes
from stepscope.analyses.memory.memory_peaks import memory_peaks
from stepscope.analyses.snapshots.memory_snapshot import memory_snapshot
from stepscope.analyses.steps.step_budget import step_budget
from stepscope.comparison.side import ComparedSide
from stepscope.model.errors import MissingInputError

#: Metrics and the columns of `step_budget` that they are.
_BUDGET: Final = {
    "compute": "compute_ns", "exposed_comm": "exposed_comm_ns", "exposed_copy": "exposed_copy_ns", "idle": "idle_ns",
}  # fmt: skip
#: Metrics of bytes; all others are of ns.
BYTES: Final = ("peak_memory", "peak_reserved")


def series_of(side: ComparedSide) -> dict[str, tuple[int, ...]]:
    """Values of each metric: by step and in ns, means over devices; of memory one, the peak over devices, in bytes.

    A metric that the recording does not tell is missing.
    """
    found: dict[str, tuple[int, ...]] = {}
    if side.unit != "none":
        found["step_time"] = side.lengths
    if side.unit in ("step", "window"):
        found |= _budget(side)
    return found | _peaks(side)


def _budget(side: ComparedSide) -> dict[str, tuple[int, ...]]:
    at = {step: i for i, step in enumerate(side.steps)}
    sums: defaultdict[str, list[int]] = defaultdict(lambda: [0] * len(at))
    for row in side.trace.once(step_budget).records():
        if row["step"] in at:
            for metric, column in _BUDGET.items():
                sums[metric][at[row["step"]]] += row[column]
    for row in side.trace.once(idle_causes).records():
        if row["step"] in at:
            sums[f"idle.{row['cause']}"][at[row["step"]]] += row["total_ns"]
    return {metric: tuple(value // side.devices for value in values) for metric, values in sums.items()}


def _peaks(side: ComparedSide) -> dict[str, tuple[int, ...]]:
    try:
        rows = [row for row in side.trace.once(memory_peaks).records() if row["device"] is not None]
    except MissingInputError:
        rows = []
    if not rows:
        try:
            snapshot = side.trace.once(memory_snapshot).records()
        except MissingInputError:
            return {}
        rows = [{"peak_bytes": row["peak_bytes"], "peak_reserved_bytes": row["reserved_bytes"]} for row in snapshot]
    columns = {"peak_memory": "peak_bytes", "peak_reserved": "peak_reserved_bytes"}
    peaks = {name: [row[column] for row in rows if row[column] is not None] for name, column in columns.items()}
    return {name: (max(values),) for name, values in peaks.items() if values}
