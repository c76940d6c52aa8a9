"""Parts of a snapshot's peak with a remedy of their own: score matrices, weight copies, brief allocations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from stepscope.analyses.snapshots.memory_snapshot_levels import SnapshotLevels, snapshot_levels
from stepscope.analyses.snapshots.memory_snapshot_peaks import AUTOCAST, BRIEF
from stepscope.model.intervals import Times
from stepscope.signals.signal import Signals, signal
from stepscope.signals.snapshots.peak_makeup import Holder, makeup

#: Of a file's name and function, or of a compiled function, not of folders: projects are called after attention too.
_IN_NAME: Final = "(^|/)[^/]*({})[^/]*$"
_ATTENTION: Final = _IN_NAME.format("attention|attn|sdpa")
_SOFTMAX: Final = _IN_NAME.format("softmax")
#: PyTorch's own attention where no fused kernel takes the inputs.
_MATH: Final = "_scaled_dot_product_attention_math"
_FRAMES_SQL: Final = """
WITH told AS (SELECT coalesce(list(frame), []) AS frames FROM call_frames WHERE regexp_matches(text, $pattern, 'i'))
SELECT stack FROM call_stacks, told WHERE list_has_any(call_stacks.frames, told.frames)
"""
_PLACES_SQL: Final = """
SELECT stack, coalesce(place, 'unknown') AS place, category = 'backward' AS backward FROM call_stacks
"""
_FORWARD_SQL: Final = "SELECT stack FROM call_stacks WHERE category = 'forward'"
_EXIT_SQL: Final = """
SELECT seq FROM allocator_events WHERE device = $device AND action IN ('free_requested', 'free')
    AND stack IN (SELECT unnest($stacks)) ORDER BY seq
"""
#: Smaller allocations are no matrices that a peak is made of.
_LEAST: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class PeakPart:
    """A part of the peak.

    Attributes:
        bytes: In use at the peak.
        count: Allocations.
        lines: The source lines that asked for them, the most bytes first.
        peak: Bytes of the whole peak.
        without: The peak if these had never been there: what else is in use at another moment then sets it.
    """

    bytes: int
    count: int
    lines: tuple[Holder, ...]
    peak: int
    without: int


@signal()
def scores(s: Signals) -> PeakPart | None:
    """Score matrices of attention at the peak: from softmax and GEMMs inside attention, and their gradients."""
    levels = _levels(s)
    size, stack = levels.rows["requested"], levels.rows["stack"]
    attends, softmaxes = (np.isin(stack, _stacks(s, pattern)) for pattern in (_ATTENTION, _SOFTMAX))
    _, backward = _places(s)
    backwards = np.isin(stack, backward)
    large = size >= _LEAST
    matrices = np.unique(size[attends & softmaxes & ~backwards & large])
    # Of the same shape in another data type: half, or a quarter for masks.
    alike = np.unique(np.concatenate([matrices, matrices // 2, matrices // 4, matrices * 2]))
    brief = levels.rows["freed"] - levels.rows["seq"] <= BRIEF
    chosen = (attends & ~backwards & np.isin(size, alike)) | (backwards & brief & np.isin(size, matrices))
    return _part(s, levels, chosen & large)


@signal()
def math_attention(s: Signals) -> bool:
    """Whether scaled_dot_product_attention fell back to separate GEMMs and softmax."""
    return bool(_stacks(s, _MATH).size)


@signal()
def weight_copies(s: Signals) -> PeakPart | None:
    """Copies of weights at the peak that autocast made and cached until its region ends."""
    levels = _levels(s)
    leaving = _stacks(s, AUTOCAST)
    freed = s.trace.columns(_EXIT_SQL, {"device": levels.device, "stacks": leaving.tolist()})["seq"]
    return _part(s, levels, np.isin(levels.rows["freed"], freed.astype(np.int64)) & (levels.rows["seq"] >= 0))


@signal()
def brief(s: Signals) -> PeakPart | None:
    """Memory at the peak that lives briefly: freed within a few dozen allocator entries."""
    levels = _levels(s)
    life = levels.rows["freed"] - levels.rows["seq"]
    tall = (levels.rows["seq"] >= 0) & (levels.rows["requested"] >= _LEAST)
    # What the same lines allocate lives a little longer at times.
    return _part(s, levels, tall & (life <= BRIEF), tall & (life <= 8 * BRIEF))


@signal()
def kept_by_forward(s: Signals) -> PeakPart | None:
    """Memory at the peak that forward passes allocated and that lives longer than a few operators."""
    levels = _levels(s)
    rows, found = levels.rows, s.trace.columns(_FORWARD_SQL)["stack"].astype(np.int64)
    lasts = (rows["seq"] >= 0) & (rows["freed"] - rows["seq"] > BRIEF)
    return _part(s, levels, lasts & np.isin(rows["stack"], found))


def _levels(s: Signals) -> SnapshotLevels:
    device = s(makeup).device
    return next(one for one in snapshot_levels(s.trace) if one.device == device)


def _stacks(s: Signals, pattern: str) -> NDArray[np.int64]:
    """Call stacks in which a frame matches."""
    return s.trace.columns(_FRAMES_SQL, {"pattern": pattern})["stack"].astype(np.int64)


def _places(s: Signals) -> tuple[dict[int, str], NDArray[np.int64]]:
    """Place of each stack, and the stacks of backward passes."""
    found: dict[str, NDArray[Any]] = s.trace.columns(_PLACES_SQL)
    stacks = found["stack"].astype(np.int64)
    return dict(zip(stacks.tolist(), found["place"].tolist(), strict=True)), stacks[found["backward"].astype(np.bool_)]


def _part(
    s: Signals, levels: SnapshotLevels, chosen: NDArray[np.bool_], kin: NDArray[np.bool_] | None = None
) -> PeakPart | None:
    """The chosen allocations that are live at the peak; None if none is.

    The peak without them leaves out all allocations of the same call stacks (by default the chosen ones) at any time.
    It is not lower than the peak by more than the chosen ones take of it, though others of those stacks were left out.
    """
    live = levels.live(levels.peak)
    mine = live[chosen[live]]
    if not mine.size:
        return None
    rows = levels.rows
    places, _ = _places(s)
    by_line: dict[str, list[int]] = {}
    for stack, size in zip(rows["stack"][mine].tolist(), rows["requested"][mine].tolist(), strict=True):
        by_line.setdefault(places.get(stack, "unknown"), []).append(size)
    lines = [Holder(place, sum(sizes), len(sizes), max(sizes)) for place, sizes in by_line.items()]
    lines.sort(key=lambda one: (-one.bytes, one.name))
    named = np.isin(rows["stack"], np.unique(rows["stack"][mine]))
    taken, peak = int(rows["requested"][mine].sum()), int(levels.requested.max())
    without = _without(levels, (chosen if kin is None else kin) & named)
    return PeakPart(taken, int(mine.size), tuple(lines), peak, max(without, peak - taken))


def _without(levels: SnapshotLevels, gone: NDArray[np.bool_]) -> int:
    """The highest level without some allocations."""
    rows, n = levels.rows, levels.requested.size
    change = np.zeros(n + 1, np.int64)
    made: Times = np.maximum(rows["seq"][gone], -1) + 1
    freed: Times = np.minimum(rows["freed"][gone], n - 1) + 1
    np.add.at(change, made, rows["requested"][gone])
    np.subtract.at(change, freed, rows["requested"][gone])
    left: Times = levels.requested - np.cumsum(change)[:n]
    return int(left.max())
