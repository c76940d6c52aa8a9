"""Whether the same kernels take longer in some steps than in others, and what samples of clocks say."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from stepscope.analyses.needs import need_device
from stepscope.model.errors import MissingInputError
from stepscope.signals.signal import Signals, signal

#: The best steps are taken from the fastest tenth, so that a single odd one does not count.
_BEST: Final = 10
_FEWEST_STEPS: Final = 6

_KERNELS_SQL: Final = """
WITH complete AS (SELECT step, row_number() OVER (ORDER BY ts) - 1 AS position FROM steps WHERE NOT partial),
    rows AS (
        SELECT hash(k.name, k.grid) AS key, c.position, count(*) AS number, sum(k.dur) AS ns
        FROM kernels k JOIN complete c USING (step) WHERE k.kind = 'compute' GROUP BY ALL
    ), always AS (
        SELECT key FROM rows GROUP BY key
        HAVING count(*) = (SELECT count(*) FROM complete) AND min(number) = max(number)
    )
SELECT r.key, r.position::BIGINT AS position, r.ns::BIGINT AS ns FROM rows r SEMI JOIN always USING (key)
ORDER BY r.key, r.position
"""
_COMPLETE_SQL: Final = "SELECT step FROM steps WHERE NOT partial ORDER BY ts"
_EVENTS_SQL: Final = """
SELECT event FROM kernels WHERE kind = 'compute' AND step = $step ORDER BY event
"""
_SAMPLES_SQL: Final = """
SELECT c.name, max(c.value) AS most, avg(c.value) AS mean, min(c.value) AS least FROM counters c
WHERE regexp_matches(c.name, '(?i)(clock|freq)') AND c.value > 0
    AND c.ts BETWEEN (SELECT min(ts) FROM kernels) AND (SELECT max(ts + dur) FROM kernels)
GROUP BY 1 HAVING count(*) > 2 ORDER BY mean / most, c.name
"""


@dataclass(frozen=True, slots=True)
class Pace:
    """How fast the device runs the same kernels in each complete step.

    Attributes:
        step: int64[n], the steps.
        slowness: float64[n], time of the same kernels over that in the fastest tenth of the steps; about 1 or more.
    """

    step: NDArray[np.int64]
    slowness: NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Clock:
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
    """How fast the device runs kernels of the same name and grid, step by step."""
    need_device(s.trace)
    step = s.trace.columns(_COMPLETE_SQL)["step"].astype(np.int64)
    rows = s.trace.columns(_KERNELS_SQL)
    if step.size < _FEWEST_STEPS or not rows["key"].size:
        raise MissingInputError(
            f"there are not {_FEWEST_STEPS} complete steps with the same kernels", hint="record more steps"
        )
    taken = rows["ns"].reshape(-1, step.size).sum(axis=0).astype(np.float64)
    best = float(np.percentile(taken, _BEST))
    return Pace(step, taken / best if best else np.ones(step.size))


@signal("share")
def lost_share(s: Signals) -> float:
    """By how much longer the same kernels take in the mean than in the fastest tenth of the steps."""
    return float(s(pace).slowness.mean()) - 1


@signal()
def slow_kernels(s: Signals) -> tuple[tuple[NDArray[np.int64], float], ...]:
    """Kernels of each step in which they are slower, and the factor that would make them as fast as in the best."""
    found: Any = s(pace)
    return tuple(
        (s.trace.columns(_EVENTS_SQL, {"step": step})["event"], 1 / slowness)
        for step, slowness in zip(found.step.tolist(), found.slowness.tolist(), strict=True)
        if slowness > 1.01
    )


@signal()
def sampled(s: Signals) -> Clock | None:
    """The clock that falls furthest below its highest value while the device works; null if none was sampled."""
    rows = s.trace.rows(_SAMPLES_SQL)
    return Clock(rows[0]["name"], rows[0]["most"], rows[0]["mean"], rows[0]["least"]) if rows else None
