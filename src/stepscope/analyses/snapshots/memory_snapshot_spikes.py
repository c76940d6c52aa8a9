"""Short rises of memory: tensors that live briefly but set how much memory the job needs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from stepscope.analyses.registry import Analysis
from stepscope.analyses.snapshots.memory_snapshot_levels import SnapshotLevels, snapshot_levels
from stepscope.analyses.snapshots.memory_snapshot_stacks import STACK_COLUMNS, described
from stepscope.analyses.snapshots.memory_snapshot_timeline import extremes
from stepscope.model.intervals import Times
from stepscope.model.schema import Column, TableSchema, count, fraction, ident, ns, size
from stepscope.model.table import Table
from stepscope.model.tables import RANK
from stepscope.model.trace import Trace

#: A rise of less than this share of the device's peak is no spike.
_LEAST: Final = 0.05
_MOST_ROWS: Final = 20
#: Points of the level among which spikes are looked for; the search takes the square of them at worst.
_POINTS: Final = 400

MEMORY_SPIKES = TableSchema(
    "memory_spikes",
    "The greatest rises of the memory asked for that went down again, per device. A rise is counted from the higher of "
    "the two valleys beside it to its top (its prominence).",
    (
        Column("device", "int32", "Device index."),
        RANK,
        ns("ts", "When it was highest."),
        ns("dur", "How long the level was more than half-way up."),
        size("top_bytes", "Bytes in use at the top."),
        size("rise_bytes", "How far the top is above the higher valley."),
        fraction("rise_share", "rise_bytes as a share of the device's peak."),
        size(
            "transient_bytes",
            "Bytes at the top that were allocated after the valley before and freed by the one after.",
        ),
        count("transient_count", "Allocations that they consist of."),
        size("largest_bytes", "Of those, the bytes of the stack that has most; the following columns are about it."),
        ident("stack", "Row of `call_stacks`; null if unknown.", nullable=True),
        *STACK_COLUMNS,
    ),
)


@dataclass(frozen=True, slots=True)
class Spike:
    """A rise: rows of the valley before, the top and the valley after; and its height in bytes."""

    before: int
    top: int
    after: int
    rise: int


def memory_spikes(trace: Trace) -> Table:
    """Find the spikes of each device.

    Raises:
        MissingInputError: The recording has no memory snapshot.
    """
    rows: list[list[Any]] = []
    for levels in snapshot_levels(trace):
        peak = int(levels.requested.max())
        found = sorted(spikes(levels.requested, int(_LEAST * peak)), key=lambda spike: (-spike.rise, spike.top))
        rows += [[levels.device, trace.ranks[0], *_row(levels, spike, peak)] for spike in found[:_MOST_ROWS]]
    stacks = described(trace, [row[-1] for row in rows])
    return Table.from_rows(
        MEMORY_SPIKES, [(*row[:-1], None if row[-1] < 0 else row[-1], *stacks[row[-1]]) for row in rows]
    )


def spikes(level: Times, least: int) -> list[Spike]:
    """Tops that rise by at least `least` bytes (and by more than 0) above the higher of the valleys on either side.

    The valleys lie between the top and the next higher level before and after, or the end. Of equal tops the first
    counts.
    """
    at = extremes(level, _POINTS)
    values = level[at].tolist()
    found = []
    for i, top in enumerate(values):
        if (i and values[i - 1] >= top) or (i + 1 < len(values) and values[i + 1] > top):
            continue
        left, right = _valley(values, i, -1), _valley(values, i, 1)
        rise = top - max(values[left], values[right])
        if rise >= max(least, 1):
            found.append(Spike(int(at[left]), int(at[i]), int(at[right]), rise))
    return found


def _valley(values: list[int], top: int, step: int) -> int:
    """Position of the lowest value between a top and the next higher value, or the end."""
    lowest = here = top
    least = values[top] + (step > 0)
    while 0 <= here + step < len(values) and values[here + step] < least:
        here += step
        if values[here] < values[lowest]:
            lowest = here
    return lowest


def _row(levels: SnapshotLevels, spike: Spike, peak: int) -> list[Any]:
    """The columns from `ts` on, with the stack (-1 if unknown) instead of what describes it."""
    high = levels.requested[spike.before : spike.after + 1] > levels.requested[spike.top] - spike.rise // 2
    above = np.flatnonzero(~high[: spike.top - spike.before])
    start = spike.before + (int(above[-1]) + 1 if above.size else 0)
    below = np.flatnonzero(~high[spike.top - spike.before :])
    end = spike.top + int(below[0]) if below.size else spike.after
    live = levels.live(spike.top)
    freed = levels.rows["freed"][live]
    live = live[(levels.rows["seq"][live] >= spike.before) & (freed < spike.after)]
    sizes, stacks = levels.rows["requested"][live], levels.rows["stack"][live]
    names, group = np.unique(stacks, return_inverse=True)
    sums = np.bincount(group, weights=sizes).astype(np.int64) if live.size else np.zeros(1, np.int64)
    largest = int(sums.argmax())
    return [
        int(levels.ts[spike.top]), int(levels.ts[end] - levels.ts[start]), int(levels.requested[spike.top]), spike.rise,
        spike.rise / peak, int(sizes.sum()), int(live.size), int(sums[largest]),
        int(names[largest]) if live.size else -1,
    ]  # fmt: skip


ANALYSES = (Analysis(MEMORY_SPIKES, memory_spikes),)
