"""Rounds of a memory snapshot without marked steps: memory rises and falls repeatedly, higher each time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from stepscope.analyses.snapshots.memory_snapshot_levels import NEVER, SnapshotLevels, snapshot_levels
from stepscope.analyses.snapshots.memory_snapshot_stacks import described
from stepscope.model.errors import MissingInputError
from stepscope.model.intervals import Times
from stepscope.signals.shared.job import stepless
from stepscope.signals.signal import Signals, signal

#: A fall of this part of what memory in use varies by, set-up apart, ends a round: layers of a model keep more than
#: they give back, rounds of a loop the other way round.
_FALL: Final = 0.5
#: As many rounds after the first make a loop, and what one leaves behind is at most so many times what another does.
_FEWEST: Final = 5
_ALIKE: Final = 2
#: One stack explains the rise if it leaves this part of it behind, and some of that in every round.
_EXPLAINS: Final = 0.8


@dataclass(frozen=True, slots=True)
class Rising:
    """Memory that every round leaves in use.

    Attributes:
        place: Who asked for it.
        stack: Row of `call_stacks`.
        per_round: Bytes, on average.
        rounds: Number of rounds.
    """

    place: str
    stack: int
    per_round: int
    rounds: int


@signal()
def rising(s: Signals) -> Rising | None:
    """The call stack that leaves memory behind in every round of a snapshot without steps; None if there is none."""
    if not s(stepless) or not s.trace.scalar("SELECT count(*) FROM allocations WHERE seq IS NOT NULL"):
        raise MissingInputError("the recording has no history of memory without steps", hint="nothing is missing")
    found = [one for one in (_rising(levels) for levels in snapshot_levels(s.trace)) if one is not None]
    if not found:
        return None
    stack, per_round, rounds = max(found, key=lambda one: one[1])
    return Rising(described(s.trace, [stack])[stack][0], stack, per_round, rounds)


def _rising(levels: SnapshotLevels) -> tuple[int, int, int] | None:
    """Stack, bytes per round and number of rounds of one device."""
    low = _troughs(levels.requested)
    if low.size <= _FEWEST:
        return None
    rises = np.diff(levels.requested[low])
    if rises.min() <= 0 or rises.max() > _ALIKE * rises.min():
        return None
    rows: dict[str, Any] = levels.rows
    kept = np.flatnonzero((rows["freed"] == NEVER) & (rows["seq"] >= low[0]) & (rows["seq"] < low[-1]))
    kept = kept[rows["stack"][kept] >= 0]
    if not kept.size:
        return None
    stacks, index = np.unique(rows["stack"][kept], return_inverse=True)
    left = np.zeros((stacks.size, rises.size), np.int64)
    np.add.at(left, (index, np.searchsorted(low, rows["seq"][kept], side="right") - 1), rows["requested"][kept])
    most = int(left.sum(1).argmax())
    if left[most].min() <= 0 or left[most].sum() < _EXPLAINS * rises.sum():
        return None
    return int(stacks[most]), int(left[most].mean()), int(rises.size)


def _troughs(level: Times) -> Times:
    """Rows of least memory between a fall and a rise of `_FALL` of its range.

    The first is that after the first fall: what lies before it is set-up.
    """
    later = level[level.size // 2 :]
    least = max(int(_FALL * (int(level.max()) - int(later.min()))), 1)
    found: list[int] = []
    high, low, falling = int(level[0]), 0, False
    for row, now in enumerate(level.tolist()):
        if not falling:
            high = max(high, now)
            if high - now >= least:
                falling, low = True, row
        elif now <= level[low]:
            low = row
        elif now - level[low] >= least:
            found.append(low)
            falling, high = False, now
    return np.array(found, np.int64)
