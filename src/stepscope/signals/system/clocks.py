"""Kernels that take longer in some steps than in others, and sampled clocks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from stepscope.analyses.shared.needs import need_device
from stepscope.model.errors import MissingInputError
from stepscope.model.events.device_work import DeviceWork
from stepscope.model.events.grids import Grids
from stepscope.model.events.steps import Steps
from stepscope.model.trace import Trace
from stepscope.signals.signal import Signals, signal

#: The best steps are taken from the fastest tenth, so that a single odd one does not count.
_BEST: Final = 10
_FEWEST_STEPS: Final = 6

_SAMPLES_SQL: Final = """
SELECT c.name, max(c.value) AS most, avg(c.value) AS mean, min(c.value) AS least FROM counters c
WHERE regexp_matches(c.name, '(?i)(clock|freq)') AND c.value > 0
    AND c.ts BETWEEN (SELECT min(ts) FROM kernels) AND (SELECT max(ts + dur) FROM kernels)
GROUP BY 1 HAVING count(*) > 2 ORDER BY mean / most, c.name
"""


@dataclass(frozen=True, slots=True)
class Pace:
    """Relative time of the same kernels in each complete step.

    Attributes:
        step: int64[n], the steps.
        slowness: float64[n], time of the same kernels over that in the fastest tenth of the steps; about 1 or more.
    """

    step: NDArray[np.int64]
    slowness: NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class ClockSamples:
    """Samples of a clock while the device worked.

    Attributes:
        name: As recorded.
        most: Highest.
        mean: Mean.
        least: Lowest.
    """

    name: str
    most: float
    mean: float
    least: float


@signal()
def pace(s: Signals) -> Pace:
    """Relative time of kernels of the same name and grid, step by step."""
    need_device(s.trace)
    step = Steps.of(s.trace).typical_steps.astype(np.int64)
    taken = _taken(s.trace, step) if step.size >= _FEWEST_STEPS else None
    if taken is None:
        raise MissingInputError(
            f"there are not {_FEWEST_STEPS} complete steps with the same kernels", hint="record more steps"
        )
    best = float(np.percentile(taken, _BEST))
    return Pace(step, taken / best if best else np.ones(step.size))


def _taken(trace: Trace, step: NDArray[np.int64]) -> NDArray[np.float64] | None:
    """Time per step of the kernels that occur equally often in all steps; None if there are none."""
    work = DeviceWork.of(trace)
    at = np.flatnonzero(work.are("compute") & np.isin(work.step, step))
    by_step = np.argsort(step)
    position = by_step[np.searchsorted(step, work.step[at], sorter=by_step)]
    _, grid = np.unique(Grids.of(trace).grid[at], return_inverse=True)
    kinds, kind = np.unique(work.name[at].astype(np.int64) * (int(grid.max(initial=0)) + 1) + grid, return_inverse=True)
    number = np.bincount(kind * step.size + position, minlength=kinds.size * step.size).reshape(-1, step.size)
    always = (number[:, 0] > 0) & (number == number[:, :1]).all(axis=1)
    mine = always[kind]
    taken = np.bincount(position[mine], work.dur[at[mine]], step.size).astype(np.float64)
    return taken if always.any() else None


@signal("share")
def lost_share(s: Signals) -> float:
    """Mean additional time of the same kernels over the fastest tenth of the steps, as a share."""
    return float(s(pace).slowness.mean()) - 1


@signal()
def slow_kernels(s: Signals) -> tuple[tuple[NDArray[np.int64], float], ...]:
    """Kernels of each slow step, and the factor that makes them as fast as in the best steps."""
    found: Any = s(pace)
    work = DeviceWork.of(s.trace)
    compute = work.are("compute")
    return tuple(
        (np.sort(work.event[compute & (work.step == step)]), 1 / slowness)
        for step, slowness in zip(found.step.tolist(), found.slowness.tolist(), strict=True)
        if slowness > 1.01
    )


@signal()
def sampled(s: Signals) -> ClockSamples | None:
    """The sampled clock that falls furthest below its maximum while the device works; null if none is sampled."""
    rows = s.trace.rows(_SAMPLES_SQL)
    return ClockSamples(rows[0]["name"], rows[0]["most"], rows[0]["mean"], rows[0]["least"]) if rows else None
