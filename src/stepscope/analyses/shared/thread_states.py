"""When each of any number of threads was in which state, as columns over all of them."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from stepscope.model.intervals import Times, ascending, distinct
from stepscope.native.dividing import divide
from stepscope.native.uniting import unite

_FIRST, _LAST = np.iinfo(np.int64).min, np.iinfo(np.int64).max
#: States are numbers below this.
_STATES = 16


@dataclass(frozen=True, slots=True, eq=False)
class StateTimes:
    """Intervals in which threads were in states.

    Attributes:
        track: int64[n], of the thread.
        state: int8[n], below 16.
        starts: int64[n].
        ends: int64[n].
    """

    track: NDArray[np.int64]
    state: NDArray[np.int8]
    starts: Times
    ends: Times

    def united(self) -> StateTimes:
        """The same times as disjoint maximal intervals, by thread, state and time; what is empty is left out."""
        tracks = distinct(self.track)
        group = np.searchsorted(tracks, self.track) * _STATES + self.state
        order = _by_group(group, self.starts)
        groups, starts, ends = unite(group[order].astype(np.int32), self.starts[order], self.ends[order])
        return StateTimes(tracks[groups // _STATES], (groups % _STATES).astype(np.int8), starts, ends)


def _by_group(group: NDArray[np.int64], starts: Times) -> NDArray[np.int64]:
    """Positions by group and start; quick where those of each group ascend, as recorded calls do."""
    order = ascending(group)
    groups, heads = group[order], starts[order]
    back = np.flatnonzero((groups[1:] == groups[:-1]) & (heads[1:] < heads[:-1]))
    for one in distinct(groups[back]).tolist():
        low, high = np.searchsorted(groups, (one, one + 1))
        order[low:high] = order[low:high][np.argsort(heads[low:high], kind="stable")]
    return order


@dataclass(frozen=True, slots=True, eq=False)
class StateTiles:
    """The lowest state that each thread was in, as tiles of all time, by thread and time.

    Attributes:
        behind: int32[threads], number of tiles up to the last one of each thread.
        starts: int64[n]; a tile ends where the thread's next one starts.
        state: int8[n]; -1 where the thread was in none. Neighbours of one thread differ.
    """

    behind: NDArray[np.int32]
    starts: Times
    state: NDArray[np.int8]

    @classmethod
    def of(cls, times: StateTimes, tracks: NDArray[np.int64]) -> StateTiles:
        """From united times of threads, for each of these threads, which ascend."""
        width = int(times.state.max(initial=0)) + 1
        edges = np.searchsorted(times.track, np.append(tracks, _LAST))
        first = [
            low + np.searchsorted(times.state[low:high], np.arange(width, dtype=np.int8))
            for low, high in pairwise(edges.tolist())
        ]
        behind, starts, state = divide(
            tracks.size,
            np.concatenate((*first, edges[-1:])).astype(np.int32),
            times.starts,
            times.ends,
            _FIRST,
            _LAST,
        )
        return cls(behind, starts, np.where(state < width, state, -1).astype(np.int8))
