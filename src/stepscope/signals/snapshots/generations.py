"""Memory of the previous iteration that is still in use during the next one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from stepscope.analyses.snapshots.memory_snapshot_levels import SnapshotLevels, snapshot_levels
from stepscope.analyses.snapshots.memory_snapshot_stacks import described
from stepscope.signals.signal import Signals, signal
from stepscope.signals.snapshots.peak_makeup import makeup

#: Frees are let through, ends of frees passed over, and anything else ends a run.
_EVENTS_SQL: Final = """
SELECT CASE WHEN action IN ('free_requested', 'free') THEN 1 WHEN action = 'free_completed' THEN 0 ELSE 2 END AS kind,
    coalesce(stack, -1) AS stack
FROM allocator_events WHERE device = $device ORDER BY seq
"""


@dataclass(frozen=True, slots=True)
class Superseded:
    """Blocks in use at the peak and freed together, after similar ones had been allocated.

    Attributes:
        bytes: Of these blocks.
        count: Blocks.
        alike: Bytes of blocks of the same sizes that were made after all of them, and in use when they were freed.
        peak: Bytes of the whole peak.
        freed_at: Line that freed them; `unknown` without stack.
        forward: Share of `alike` that was made in forward passes.
        older: Whether all of them are older than the recording.
    """

    bytes: int
    count: int
    alike: int
    peak: int
    freed_at: str
    forward: float
    older: bool


@signal()
def superseded(s: Signals) -> Superseded | None:
    """Largest amount of peak memory that was freed at once, with its replacement already allocated."""
    device = s(makeup).device
    levels = next(one for one in snapshot_levels(s.trace) if one.device == device)
    events = s.trace.columns(_EVENTS_SQL, {"device": device})
    if not events["kind"].size:
        return None
    run = _runs(events["kind"].astype(np.int64), events["stack"].astype(np.int64))
    rows = levels.rows
    live = levels.live(levels.peak)
    live = live[rows["freed"][live] < run.size]
    if not live.size:
        return None
    of = run[rows["freed"][live]]
    sums = np.bincount(of, weights=rows["requested"][live])
    mine = live[of == int(sums.argmax())]
    first = int(rows["freed"][mine].min())
    later = (
        (rows["seq"] > rows["seq"][mine].max()) & (rows["seq"] < first) & (rows["freed"] > rows["freed"][mine].max())
    )
    matched = _alike(rows["requested"][mine], rows["requested"], np.flatnonzero(later))
    total = int(rows["requested"][matched].sum())
    stack = int(events["stack"][first])
    return Superseded(
        int(rows["requested"][mine].sum()), int(mine.size), total, int(levels.requested.max()),
        described(s.trace, [stack])[stack][0], _forward(s, levels, matched), bool((rows["seq"][mine] < 0).all()),
    )  # fmt: skip


def _runs(kind: NDArray[np.int64], stack: NDArray[np.int64]) -> NDArray[np.int64]:
    """Index of the run of frees that each entry belongs to: one line, without other entries in between."""
    shown = np.flatnonzero(kind > 0)
    change = (kind[shown] == 2) | (np.diff(stack[shown], prepend=-2) != 0) | (np.roll(kind[shown], 1) == 2)
    number = np.zeros(kind.size, np.int64)
    number[shown] = np.cumsum(change)
    return np.maximum.accumulate(number)


def _alike(sizes: NDArray[Any], every: NDArray[Any], among: NDArray[np.int64]) -> NDArray[np.int64]:
    """Positions of candidates that match sizes one by one, the latest first."""
    wanted, often = np.unique(sizes, return_counts=True)
    left = dict(zip(wanted.tolist(), often.tolist(), strict=True))
    found = []
    for position in among[::-1].tolist():
        size = int(every[position])
        if left.get(size, 0):
            left[size] -= 1
            found.append(position)
    return np.array(found, np.int64)


def _forward(s: Signals, levels: SnapshotLevels, matched: NDArray[np.int64]) -> float:
    """Share of the bytes whose stacks are of a forward pass."""
    sizes, stacks = levels.rows["requested"][matched], levels.rows["stack"][matched]
    told = described(s.trace, np.unique(stacks).tolist())
    mine = np.array([told[stack][2] == "forward" for stack in stacks.tolist()], np.bool_)
    return float(sizes[mine].sum() / sizes.sum()) if sizes.sum() else 0.0
