"""By how much the clocks of hosts differ, from the ends of collectives, which all ranks leave together."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from stepscope.analyses.communication.matching import Calls, Kind, by_kind, matched_size
from stepscope.analyses.shared.grouping import Groups
from stepscope.model.intervals import Times

#: Collectives whose result needs the data of all ranks, so that none can leave before the last has come.
_TOGETHER: Final = ("all_reduce", "all_gather", "reduce_scatter", "all_to_all", "barrier")
#: Of each kind the first ones of a rank are enough, and keep memory small where ranks are many.
_MOST: Final = 256
#: Median polish has converged long before, unless hosts are only linked in chains.
_ROUNDS: Final = 20


@dataclass(slots=True)
class Clocks:
    """Ends of collectives by clock, rank by rank."""

    _clocks: dict[str, int] = field(default_factory=dict)
    _of_rank: dict[int, int] = field(default_factory=dict)
    _ends: dict[Kind, list[tuple[int, Times, NDArray[np.int64], Times]]] = field(
        default_factory=lambda: defaultdict(list)
    )

    def add(self, rank: int, host: str | None, origin: int | None, calls: Calls) -> None:
        """Add a rank's collectives.

        Args:
            rank: The rank.
            host: Its host; None for one of its own.
            origin: Unix time of its trace's origin, ns; None if not known.
            calls: Its calls.
        """
        clock = self._clocks.setdefault(f"rank {rank}" if host is None else f"host {host}", len(self._clocks))
        self._of_rank[rank] = clock
        if origin is None:
            return
        for kind, rows in by_kind(calls):
            if kind[1] in _TOGETHER:
                first = rows[np.argsort(np.abs(calls["key"][rows]), kind="stable")[:_MOST]]
                ends = calls["stop"][first] + origin
                size = matched_size(kind, calls, first)
                self._ends[kind].append((clock, size, calls["key"][first], ends))

    def offsets(self) -> dict[int, tuple[int, int | None, int | None, int]]:
        """By rank: collectives compared, offset and residual in ns, and clocks compared with."""
        clock, collective, end = self._columns()
        # Only what at least two clocks have seen says something.
        pairs = Groups.by(collective, clock)
        seen = Groups.by(collective[pairs.first])
        shared = np.zeros(int(collective.max(initial=-1)) + 1, np.int64)
        shared[collective[pairs.first][seen.first]] = seen.count
        kept = shared[collective] > 1
        clock, collective, end = clock[kept], collective[kept], end[kept]
        offset = np.zeros(len(self._clocks))
        collective = Groups.by(collective).index
        base = int(end.min()) if end.size else 0
        left = (end - base).astype(np.float64)  # 53 bits hold 100 days of ns
        for _ in range(_ROUNDS):
            left -= _medians(collective, left)[collective]
            step = _medians(clock, left)
            known = ~np.isnan(step)
            offset[: step.size][known] += step[known]
            left -= np.nan_to_num(step)[clock]
        residual = _medians(clock, np.abs(left))
        number = np.bincount(clock, minlength=len(self._clocks))
        first = next((one for one in dict.fromkeys(self._of_rank.values()) if number[one]), 0)
        others = int(np.unique(clock).size) - 1
        found: dict[int, tuple[int, int | None, int | None, int]] = {}
        for rank, one in self._of_rank.items():
            told = bool(number[one])
            found[rank] = (
                int(number[one]),
                round(offset[one] - offset[first]) if told else None,
                round(residual[one]) if told else None,
                others if told else 0,
            )
        return found

    def _columns(self) -> tuple[NDArray[np.int64], NDArray[np.int64], Times]:
        """Clock, number of the collective and end of each call."""
        clocks, numbers, ends = ([np.zeros(0, np.int64)] for _ in range(3))
        total = 0
        for calls in self._ends.values():
            size, key = (np.concatenate([call[at] for call in calls]) for at in (1, 2))
            groups = Groups.by(size, np.where(key >= 0, 2 * key, -2 * key - 1))
            clocks += [np.full(call[3].size, call[0]) for call in calls]
            numbers.append(groups.index + total)
            ends += [call[3] for call in calls]
            total += groups.count.size
        return np.concatenate(clocks), np.concatenate(numbers), np.concatenate(ends)


def _medians(index: NDArray[np.int64], values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Median of the values of each number from 0 on; NaN where there is none."""
    found = np.full(int(index.max(initial=-1)) + 1, np.nan)
    order = np.lexsort((values, index))
    groups = Groups.by(index)
    stops = np.cumsum(groups.count)
    low, high = stops - groups.count + (groups.count - 1) // 2, stops - groups.count + groups.count // 2
    found[index[groups.first]] = (values[order][low] + values[order][high]) / 2
    return found
