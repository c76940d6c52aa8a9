"""Blocks that one line takes again and again and that are never freed, in histories of memory without steps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from stepscope.analyses.snapshots.memory_snapshot_levels import NEVER, SnapshotLevels, snapshot_levels
from stepscope.analyses.snapshots.memory_snapshot_stacks import described
from stepscope.model.errors import MissingInputError
from stepscope.signals.shared.job import stepless
from stepscope.signals.signal import Signals, signal

#: So many blocks recur, as in PyTorch's own tools for snapshots.
_FEWEST: Final = 3
#: Lines of one program that leak at a time, at most.
_LINES: Final = 2
#: Parameters are made one after the other. What recurs comes at even distances, over most of the history, with blocks
#: of others that are made and freed between two of them.
_EVEN: Final = 0.5
_SPREAD: Final = 0.5
_BETWEEN: Final = 10


@dataclass(frozen=True, slots=True)
class KeptBlocks:
    """Blocks of one line, none of which is freed.

    Attributes:
        place: Who asked for them.
        stack: A row of `call_stacks` with that place.
        count: How many.
        bytes: All of them.
        each: The smallest, bytes.
    """

    place: str
    stack: int
    count: int
    bytes: int
    each: int


@signal()
def kept_again(s: Signals) -> KeptBlocks | None:
    """The line that keeps most memory of blocks that it takes again and again; None if there is none."""
    if not s(stepless) or not s.trace.scalar("SELECT count(*) FROM allocations WHERE seq IS NOT NULL"):
        raise MissingInputError("the recording has no history of memory without steps", hint="nothing is missing")
    found = [one for levels in snapshot_levels(s.trace) for one in _kept(s, levels)]
    return max(found, key=lambda one: one.bytes, default=None)


def _kept(s: Signals, levels: SnapshotLevels) -> list[KeptBlocks]:
    rows: dict[str, Any] = levels.rows
    mine = np.flatnonzero((rows["seq"] >= 0) & (rows["stack"] >= 0))
    if not mine.size:
        return []
    seq, stack, freed, size = (rows[name][mine] for name in ("seq", "stack", "freed", "requested"))
    stacks = np.unique(stack)
    told = described(s.trace, stacks.tolist())
    places, index = np.unique([told[one][0] for one in stacks.tolist()], return_inverse=True)
    place = index[np.searchsorted(stacks, stack)]
    length = int(seq.max() - seq.min()) + 1
    passing = np.sort(freed[freed != NEVER])
    found = []
    for k in np.flatnonzero(np.bincount(place) >= _FEWEST).tolist():
        its = np.flatnonzero(place == k)
        if (freed[its] != NEVER).any() or not _recurs(np.sort(seq[its]), passing, length):
            continue
        found.append(
            KeptBlocks(str(places[k]), int(stack[its[0]]), int(its.size), int(size[its].sum()), int(size[its].min()))
        )
    # Many lines that keep blocks in one rhythm are the layers of a pass, whose activations its backward pass frees.
    return found if len(found) <= _LINES else []


def _recurs(seq: NDArray[np.int64], passing: NDArray[np.int64], length: int) -> bool:
    """Whether blocks at these entries come at even distances over most of the history, with frees in between."""
    apart = np.diff(seq)
    between = np.diff(np.searchsorted(passing, seq))
    return bool(
        apart.min() >= _EVEN * np.median(apart)
        and apart.sum() >= _SPREAD * length
        and apart.max() <= np.median(apart) / _EVEN
        and between.min() >= _BETWEEN
    )
