"""Samples of a counter at any level of detail: the range of values in each bucket of time, and the last one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from stepscope.model.intervals import Times
from stepscope.model.trace import Trace
from stepscope.web.tiles.track import TimelineTrack

_COUNTER_SQL: Final = "SELECT ts, value FROM counters WHERE track = ? AND name = ? ORDER BY ts"
_MEMORY_SQL: Final = """
SELECT ts, {column}::DOUBLE AS value FROM memory WHERE device IS NOT DISTINCT FROM ? AND {column} IS NOT NULL
ORDER BY ts
"""

Values = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class SampledRange:
    """Samples of a range, the ones of a bucket together.

    Attributes:
        start: int64[n], when the first of them was.
        least: float64[n], smallest value.
        most: float64[n], largest value.
        last: float64[n], value of the last, which holds until the next.
        count: int64[n], samples.
        before: Value that holds where the range begins; None if nothing was sampled before.
    """

    start: Times
    least: Values
    most: Values
    last: Values
    count: NDArray[np.int64]
    before: float | None


@dataclass(frozen=True, slots=True, eq=False)
class CounterLine:
    """The n samples of a counter, by time."""

    ts: Times
    value: Values

    def within(self, lo: int, hi: int, level: int) -> SampledRange:
        """Those in [lo, hi), in buckets `2 ** level` ns wide; lo and hi are whole numbers of buckets."""
        since, end = np.searchsorted(self.ts, (lo, hi)).tolist()
        before = float(self.value[since - 1]) if since else None
        ts, value = self.ts[since:end], self.value[since:end]
        if not ts.size:
            none = np.zeros(0, np.float64)
            return SampledRange(ts, none, none, none, np.zeros(0, np.int64), before)
        first = np.flatnonzero(np.append(True, np.diff(ts >> level)))
        count = np.diff(first, append=ts.size)
        low, high = np.fmin.reduceat(value, first), np.fmax.reduceat(value, first)
        return SampledRange(ts[first], low, high, value[first + count - 1], count, before)

    @property
    def nbytes(self) -> int:
        """Bytes in memory."""
        return self.ts.nbytes + self.value.nbytes


def line_of(trace: Trace, track: TimelineTrack) -> CounterLine:
    """The samples of a track that is drawn as a line; times since the rank's origin."""
    values: list[Any] = [track.device]
    if track.source == "memory":
        column = {"allocated": "allocated", "reserved": "reserved"}[track.part]
        rows = trace.columns(_MEMORY_SQL.format(column=column), values)
    else:
        rows = trace.columns(_COUNTER_SQL, [track.track, track.part])
    return CounterLine(rows["ts"], rows["value"])
