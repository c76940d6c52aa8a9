"""What a device did, as shares of any range of time: computing, exposed communication and copies, idle by cause."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from stepscope.analyses.idle.idle_causes import idle_parts
from stepscope.model.intervals import Intervals, Times
from stepscope.model.trace import Trace
from stepscope.web.tiles.track import SHARES

#: Labels before those of idle time.
_BUSY = 3


@dataclass(frozen=True, slots=True)
class Shares:
    """When a device did what, by position in `SHARES`; the sets are disjoint and fill the time that is explained."""

    parts: dict[int, Intervals]

    def within(self, starts: Times, ends: Times) -> dict[int, NDArray[np.int64]]:
        """Nanoseconds of each label in n ranges, int64[n] by label; labels without any are left out."""
        lo, hi = int(starts.min()), int(ends.max())
        found = {label: part.clip(lo, hi).within(starts, ends) for label, part in self.parts.items()}
        return {label: ns for label, ns in found.items() if ns.any()}

    def buckets(self, lo: int, level: int, number: int) -> dict[int, NDArray[np.int64]]:
        """The same in a row of buckets, each `2 ** level` ns wide, from `lo` on."""
        edges = lo + (np.arange(number + 1, dtype=np.int64) << level)
        return self.within(edges[:-1], edges[1:])

    def to_arrays(self) -> dict[str, NDArray[np.int64]]:
        """Starts and ends by label."""
        pairs = self.parts.items()
        return {f"{label}.starts": part.starts for label, part in pairs} | {
            f"{label}.ends": part.ends for label, part in pairs
        }

    @classmethod
    def from_arrays(cls, arrays: dict[str, NDArray[np.int64]]) -> Shares:
        """The inverse of `to_arrays`.

        Raises:
            KeyError: These are other arrays.
        """
        labels = sorted({int(name.partition(".")[0]) for name in arrays})
        return cls({label: Intervals(arrays[f"{label}.starts"], arrays[f"{label}.ends"]) for label in labels})

    @property
    def nbytes(self) -> int:
        """Bytes in memory."""
        return sum(part.starts.nbytes + part.ends.nbytes for part in self.parts.values())


def shares_of(trace: Trace, device: int | None) -> Shares:
    """What a device of a rank did.

    Raises:
        KeyError: The rank has no activity on it.
    """
    for one, idle in trace.once(idle_parts):
        if one.device == device:
            exposed = one.comm - one.compute
            parts = {0: one.compute, 1: exposed, 2: one.copy - one.compute - one.comm}
            order = np.argsort(idle.cause, kind="stable")  # by radix
            edges = np.cumsum(np.bincount(idle.cause, minlength=len(SHARES) - _BUSY))
            for cause, (first, last) in enumerate(pairwise([0, *edges.tolist()])):
                mine = order[first:last]
                parts[_BUSY + cause] = Intervals.union_of(idle.starts[mine], idle.ends[mine])
            assert max(parts) < len(SHARES)
            return Shares({label: part for label, part in parts.items() if len(part)})
    raise KeyError(f"no activity on device {device}")
