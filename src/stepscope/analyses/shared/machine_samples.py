"""Samples of the machine from a time in which the loop ran as usual: without the profiler, where there are enough."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from stepscope.model.errors import MissingInputError
from stepscope.model.trace import Trace

#: After that long a job may do something else.
_LATER_NS: Final = 120 * 10**9
#: So many samples without the profiler are worth more than those with it; fewer than the second tell nothing.
_ENOUGH: Final = 5
_FEWEST: Final = 3

_SAMPLES_SQL: Final = "SELECT ts, subject, series, unit, value FROM machine ORDER BY ts"
_EXTENT_SQL: Final = "SELECT min(ts) AS first, max(ts + coalesce(dur, 0)) AS last FROM spans"


@dataclass(frozen=True, slots=True)
class MachineSeries:
    """Samples of the machine while the loop ran.

    Attributes:
        subject: What was measured, str[n].
        series: What of it, str[n].
        unit: Of the values, str[n].
        value: float64[n].
        apart: Whether the profiler was off.
        samples: Moments at which all of it was sampled.
    """

    subject: NDArray[np.object_]
    series: NDArray[np.object_]
    unit: NDArray[np.object_]
    value: NDArray[np.float64]
    apart: bool
    samples: int

    def of(self, subject: str, series: str) -> NDArray[np.float64]:
        """The samples of one series; empty where it was not sampled."""
        found: NDArray[np.float64] = self.value[(self.subject == subject) & (self.series == series)]
        return found

    def mean(self, subject: str, series: str) -> float | None:
        """The mean of a series; None where it was not sampled."""
        found = self.of(subject, series)
        return float(found.mean()) if found.size else None

    def subjects(self, start: str) -> list[str]:
        """What was measured whose name starts so."""
        return sorted({str(name) for name in self.subject if str(name).startswith(start)})


def machine_series(trace: Trace) -> MachineSeries:
    """Samples after the recorded steps, at most two minutes, while nothing was recorded; else those of the steps.

    Raises:
        MissingInputError: There are no samples, or fewer than three.
    """
    rows = trace.columns(_SAMPLES_SQL)
    if not rows["ts"].size:
        raise MissingInputError.of("machine")
    [extent] = trace.rows(_EXTENT_SQL)
    last = extent["last"] or 0
    apart, inside = _intervals(rows, extent["first"] or 0, last)
    apart = _with_workers(rows, apart, last)
    chosen = apart if len(apart) >= _ENOUGH else inside
    if len(chosen) < _FEWEST:
        raise MissingInputError.of("machine")
    mine = np.isin(rows["ts"], chosen)
    return MachineSeries(
        rows["subject"][mine], rows["series"][mine], rows["unit"][mine], rows["value"][mine].astype(np.float64),
        chosen is apart, len(chosen),
    )  # fmt: skip


def _with_workers(rows: dict[str, NDArray[Any]], apart: list[int], last: int) -> list[int]:
    """Of a loop that had loader workers when its recording ended, the times at which it has some; else all."""
    mine = (rows["subject"] == "job") & (rows["series"] == "loader workers")
    workers = dict(zip(rows["ts"][mine].tolist(), rows["value"][mine].tolist(), strict=True))
    then = [count for ts, count in sorted(workers.items()) if ts <= last][-1:]
    return [ts for ts in apart if workers.get(ts, 1) > 0] if then and then[0] > 0 else apart


def _intervals(rows: dict[str, NDArray[Any]], first: int, last: int) -> tuple[list[int], list[int]]:
    """Starts of the times between two samples: those after the recording with the profiler off, those within it."""
    marks = (rows["subject"] == "recording") & (rows["series"] == "on")
    starts, on = rows["ts"][marks].tolist(), rows["value"][marks] > 0
    apart, inside = [], []
    for i in range(len(starts) - 1):
        if on[i] and starts[i] >= first and starts[i + 1] <= last:
            inside.append(starts[i])
        elif not on[i] and not on[i + 1] and first <= starts[i] <= last + _LATER_NS:
            apart.append(starts[i])
    # In the last one the program ends.
    return apart[:-1], inside
