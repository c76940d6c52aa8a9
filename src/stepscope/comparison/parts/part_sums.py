"""What a step's time is made of, as parts that add up to it: work on the device, and the causes of idleness."""

from __future__ import annotations

from collections import defaultdict
from typing import Any, Final

from stepscope.analyses.idle.idle_causes import idle_causes
from stepscope.analyses.steps.phases import phases
from stepscope.analyses.steps.step_budget import step_budget
from stepscope.comparison.parts.charged import BUSY
from stepscope.comparison.side import ComparedSide
from stepscope.model.table import Table

#: Part and detail; the detail is null where there is no further split.
PartKey = tuple[str, str | None]

_COLUMNS: Final = dict(zip(BUSY, ("compute_ns", "exposed_comm_ns", "exposed_copy_ns"), strict=True))
#: The only part of a step of which no device is recorded.
ON_HOST: Final = "host"


def part_sums(side: ComparedSide) -> dict[PartKey, int]:
    """Time of each part over all steps and devices of a side, in ns; they add up to the lengths of the steps.

    Idle time is one part per cause, named `idle.data_wait` and so on, with its details.

    Raises:
        MissingInputError: The recording has nothing that a step could be made of.
    """
    if side.unit == "host step" or not any(row["total_ns"] for row in _chosen(side, side.trace.once(step_budget))):
        return {(ON_HOST, None): sum(side.lengths) * side.devices}
    sums: defaultdict[PartKey, int] = defaultdict(int)
    idle = 0
    for row in _chosen(side, side.trace.once(step_budget)):
        for part, column in _COLUMNS.items():
            sums[part, None] += row[column]
        idle += row["idle_ns"]
    for row in _chosen(side, side.trace.once(idle_causes)):
        sums[f"idle.{row['cause']}", row["detail"]] += row["total_ns"]
        idle -= row["total_ns"]
    if idle:
        sums["idle.unknown", None] += idle
    return dict(sums)


def phase_sums(side: ComparedSide) -> dict[PartKey, int]:
    """Time of each phase over all steps and devices of a side, in ns, device work and idle time apart.

    They add up to the lengths of the steps; of a recording without device activity, those of the host do.

    Raises:
        MissingInputError: The recording does not tell phases.
    """
    sums: defaultdict[PartKey, int] = defaultdict(int)
    for row in _chosen(side, side.trace.once(phases)):
        if row["device_ns"] is None:
            sums[row["phase"], "host"] += row["host_ns"]
        else:
            sums[row["phase"], "busy"] += row["device_ns"]
            sums[row["phase"], "idle"] += row["idle_ns"]
    return dict(sums)


def _chosen(side: ComparedSide, table: Table) -> list[dict[str, Any]]:
    wanted = set(side.steps)
    return [row for row in table.records() if row["step"] in wanted]
