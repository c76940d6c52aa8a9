"""When each of any number of threads was in which state, as columns over all of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stepscope.model.intervals import Times

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

    @classmethod
    def joined(cls, parts: list[StateTimes]) -> StateTimes:
        """All of several."""
        return cls(
            np.concatenate([np.zeros(0, np.int64), *(part.track for part in parts)]),
            np.concatenate([np.zeros(0, np.int8), *(part.state for part in parts)]),
            np.concatenate([np.zeros(0, np.int64), *(part.starts for part in parts)]),
            np.concatenate([np.zeros(0, np.int64), *(part.ends for part in parts)]),
        )

    def take(self, some: NDArray[np.bool_]) -> StateTimes:
        """Some of them."""
        return StateTimes(self.track[some], self.state[some], self.starts[some], self.ends[some])

    def united(self) -> StateTimes:
        """The same times as disjoint maximal intervals, by thread, state and time; what is empty is left out."""
        real = self if (self.ends > self.starts).all() else self.take(self.ends > self.starts)
        if not real.starts.size:
            return real
        group = real.track * _STATES + real.state
        order = np.lexsort((real.starts, group))
        # As in `Intervals.union_of`: where as many ends as starts precede a start of the same group, nothing is open.
        starts, ends, group = real.starts[order], real.ends[np.lexsort((real.ends, group))], group[order]
        apart = np.flatnonzero((starts[1:] > ends[:-1]) | (group[1:] != group[:-1]))
        heads, tails = np.append(0, apart + 1), np.append(apart, starts.size - 1)
        first = order[heads]
        return StateTimes(real.track[first], real.state[first], starts[heads], ends[tails])


@dataclass(frozen=True, slots=True, eq=False)
class StateTiles:
    """The lowest state that each thread was in, as tiles of all time, by thread and time.

    Attributes:
        track: int64[n], ascending.
        starts: int64[n].
        ends: int64[n].
        state: int8[n]; -1 where the thread was in none. Neighbours of one thread differ.
    """

    track: NDArray[np.int64]
    starts: Times
    ends: Times
    state: NDArray[np.int8]

    @classmethod
    def of(cls, times: StateTimes, tracks: NDArray[np.int64]) -> StateTiles:
        """From united times, for each of some threads."""
        nothing = np.zeros(tracks.size, np.int64)
        track = np.concatenate((tracks, times.track, times.track))
        when = np.concatenate((np.full(tracks.size, _FIRST), times.starts, times.ends))
        bit = np.left_shift(1, times.state.astype(np.int64))
        order = np.lexsort((when, track))
        track, when = track[order], when[order]
        # Every edge of a state toggles its bit. All are off behind a thread's last one, so that the next starts anew.
        within = np.bitwise_xor.accumulate(np.concatenate((nothing, bit, bit))[order])
        settled = np.flatnonzero(np.append((when[1:] > when[:-1]) | (track[1:] != track[:-1]), True))
        track, when, within = track[settled], when[settled], within[settled]
        lowest = within & -within
        first = np.flatnonzero(np.append(True, (lowest[1:] != lowest[:-1]) | (track[1:] != track[:-1])))
        track, starts, lowest = track[first], when[first], lowest[first]
        ends = np.append(np.where(track[1:] == track[:-1], starts[1:], _LAST), _LAST)[: starts.size]
        state = np.where(lowest > 0, np.log2(np.maximum(lowest, 1)), -1).astype(np.int8)
        return cls(track, starts, ends, state)
