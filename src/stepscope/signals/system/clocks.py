"""Kernels that take longer in some steps than in others, and sampled clocks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from stepscope.analyses.shared.grouping import Groups
from stepscope.analyses.shared.needs import need_device
from stepscope.language import said
from stepscope.model.errors import MissingInputError
from stepscope.model.events.columns import Spans
from stepscope.model.events.device_work import DeviceWork
from stepscope.model.events.grids import Grids
from stepscope.model.events.op_inputs import inputs_at
from stepscope.model.events.steps import Steps
from stepscope.model.trace import Trace
from stepscope.signals.signal import Signals, signal

#: The best steps are taken from the fastest tenth, so that a single odd one does not count.
_BEST: Final = 10
_FEWEST_STEPS: Final = 6
#: A step is slow from here on; what all steps compute alike is this part at least, as is what is slower in slow ones.
_SLOW: Final = 1.05
_ALIKE: Final = 0.5

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
    """Relative time of kernels of the same name, grid and inputs, step by step."""
    need_device(s.trace)
    step = Steps.of(s.trace).typical_steps.astype(np.int64)
    taken = _taken(s.trace, step) if step.size >= _FEWEST_STEPS else None
    if taken is None:
        raise MissingInputError(
            said("there are not {fewest_steps} complete steps with the same kernels", fewest_steps=_FEWEST_STEPS),
            hint="record more steps",
        )
    of_step = taken.sum(axis=0)
    best = float(np.percentile(of_step, _BEST))
    slowness = of_step / best if best else np.ones(step.size)
    if not _of_the_device(taken, slowness):
        raise MissingInputError(
            "only some kernels take longer in some steps", hint="see whether their work depends on the data"
        )
    return Pace(step, slowness)


def _taken(trace: Trace, step: NDArray[np.int64]) -> NDArray[np.float64] | None:
    """Time in each step of each kind of kernel that occurs equally often in all steps, float64[kinds, steps].

    A kind is a name, a grid and the operator's inputs: kernels that stay on the device have one grid for all sizes.
    None if there are none, or most of what is computed changes from step to step.
    """
    work = DeviceWork.of(trace)
    at = np.flatnonzero(work.are("compute") & np.isin(work.step, step))
    by_step = np.argsort(step)
    position = by_step[np.searchsorted(step, work.step[at], sorter=by_step)]
    inputs, known = np.full(at.size, -1, np.int64), work.op[at] >= 0
    inputs[known] = inputs_at(trace, Spans(trace).rows(work.op[at[known]]))
    kinds = Groups.by(work.name[at], Grids.of(trace).grid[at].astype(np.int64), inputs)
    cells, shape = kinds.index * step.size + position, (kinds.count.size, step.size)
    number, taken = (
        np.bincount(cells, weights, shape[0] * shape[1]).reshape(shape) for weights in (None, work.dur[at])
    )
    always = (number[:, 0] > 0) & (number == number[:, :1]).all(axis=1)
    if not always.any() or np.median(taken[always].sum(axis=0) / np.maximum(taken.sum(axis=0), 1)) < _ALIKE:
        return None
    found: NDArray[np.float64] = taken[always].astype(np.float64)
    return found


def _of_the_device(taken: NDArray[np.float64], slowness: NDArray[np.float64]) -> bool:
    """Whether slow steps are slow in most of what they compute: else some kernels have more to do in them."""
    best = np.percentile(taken, _BEST, axis=1, keepdims=True)
    slow = slowness > _SLOW
    if not slow.any():
        return True
    follows = taken[:, slow] >= best * (1 + (slowness[slow] - 1) / 2)
    return float((follows * best).sum(axis=0).mean()) >= _ALIKE * float(best.sum())


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
