"""What a step's time is made of, as parts that add up to it: work on the device, and the causes of idleness."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from typing import Any, Final

import numpy as np

from stepscope.analyses.idle.idle_causes import idle_causes
from stepscope.analyses.steps.phases import phases
from stepscope.analyses.steps.step_budget import step_budget
from stepscope.comparison.parts.amounts import OF_WAITS, Amount
from stepscope.comparison.parts.batches import StepBatches
from stepscope.comparison.parts.charged import BUSY
from stepscope.comparison.side import ComparedSide, tells_calls
from stepscope.model.table import Table

#: Part and detail; the detail is null where there is no further split.
PartKey = tuple[str, str | None]

_COLUMNS: Final = dict(zip(BUSY, ("compute_ns", "exposed_comm_ns", "exposed_copy_ns"), strict=True))
#: The only part of a step of which no device is recorded.
ON_HOST: Final = "host"


def part_sums(side: ComparedSide) -> dict[PartKey, Amount]:
    """Time of each part over all steps and devices of a side; they add up to the lengths of the steps.

    Idle time is one part per cause, named `idle.data_wait` and so on, with its details.

    Raises:
        MissingInputError: The recording has nothing that a step could be made of.
    """
    sums = _StepSums(side)
    if side.unit == "host step" or not any(row["total_ns"] for row in _chosen(side, side.trace.once(step_budget))):
        for step, length in zip(side.steps, side.lengths, strict=True):
            sums.add((ON_HOST, None), step, length * side.devices)
        return sums.amounts()
    idle: defaultdict[int, int] = defaultdict(int)
    for row in _chosen(side, side.trace.once(step_budget)):
        for part, column in _COLUMNS.items():
            sums.add((part, None), row["step"], row[column])
        idle[row["step"]] += row["idle_ns"]
    for row in _chosen(side, side.trace.once(idle_causes)):
        sums.add((f"idle.{row['cause']}", row["detail"]), row["step"], row["total_ns"])
        idle[row["step"]] -= row["total_ns"]
    for step, left in idle.items():
        if left:
            sums.add(("idle.unknown", None), step, left)
    return sums.amounts()


def as_told(
    base: ComparedSide, new: ComparedSide, sums: tuple[dict[PartKey, Amount], dict[PartKey, Amount]]
) -> tuple[dict[PartKey, Amount], dict[PartKey, Amount]]:
    """The parts of both sides; where one lacks the calls that idle time is put down to, no cause of it is certain."""
    if tells_calls(base) is tells_calls(new):
        return sums
    first, second = (
        {key: replace(one, by_batch=None) if key[0].startswith("idle.") else one for key, one in side.items()}
        for side in sums
    )
    return first, second


def phase_sums(side: ComparedSide) -> dict[PartKey, Amount]:
    """Time of each phase over all steps and devices of a side, device work and idle time apart.

    They add up to the lengths of the steps; of a recording without device activity, those of the host do.

    Raises:
        MissingInputError: The recording does not tell phases.
    """
    sums = _StepSums(side)
    for row in _chosen(side, side.trace.once(phases)):
        if row["device_ns"] is None:
            sums.add((row["phase"], "host"), row["step"], row["host_ns"])
        else:
            sums.add((row["phase"], "busy"), row["step"], row["device_ns"])
            sums.add((row["phase"], "idle"), row["step"], row["idle_ns"])
    return sums.amounts()


class _StepSums:
    """Times by part and step."""

    def __init__(self, side: ComparedSide) -> None:
        self._batches = StepBatches.of(side)
        self._step = side.unit == "step"
        self._at = {step: i for i, step in enumerate(side.steps)}
        self._sums: defaultdict[PartKey, list[int]] = defaultdict(lambda: [0] * len(side.steps))

    def add(self, key: PartKey, step: int, length: int) -> None:
        self._sums[key][self._at[step]] += length

    def amounts(self) -> dict[PartKey, Amount]:
        found = {}
        for key, values in self._sums.items():
            times = np.asarray(values, np.float64)
            by_batch = np.bincount(self._batches.batch, times, self._batches.size.size) / self._batches.size
            spread = OF_WAITS if self._step and key[0] not in (BUSY[0], ON_HOST) else 1.0
            found[key] = Amount(sum(values), 0, spread**2 * float((times**2).sum()), by_batch)
        return found


def _chosen(side: ComparedSide, table: Table) -> list[dict[str, Any]]:
    wanted = set(side.steps)
    return [row for row in table.records() if row["step"] in wanted]
