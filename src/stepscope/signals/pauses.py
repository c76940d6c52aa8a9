"""Moments in which the host did nothing that is recorded, for a millisecond or more, where it usually goes on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from stepscope.analyses.host_states import host_states
from stepscope.model.errors import MissingInputError
from stepscope.model.intervals import Times, distinct
from stepscope.signals.job import recorded_steps, step_ns
from stepscope.signals.signal import Signals, signal

#: Nothing that a healthy host does between two recorded events takes longer, but for work of its own.
_LEAST_NS: Final = 1_000_000
#: An operator that takes so many times what it usually takes did not take it for itself.
_OUTLIER: Final = 10
#: As many stretches are looked at, the longest ones.
_MOST: Final = 300
#: A stretch is regular if half of the other steps have one at this place, as a share of what a step records.
_SAME_PLACE: Final = 0.005

_BOUNDS_SQL: Final = """
SELECT s.ts, s.ts + s.dur AS stop FROM spans s
WHERE s.track IN (SELECT unnest($threads)) AND s.dur IS NOT NULL
    AND s.category IN ('op', 'runtime', 'launch', 'sync', 'queue', 'gc', 'dataloader', 'python', 'module', 'annotation')
"""
_STEPS_SQL: Final = "SELECT ts, ts + dur AS stop FROM steps ORDER BY ts"
_AROUND_SQL: Final = """
SELECT w.number, s.category, s.name_id, coalesce(s.depth, 0) AS depth, s.dur
FROM (SELECT unnest($numbers) AS number, unnest($starts) AS lo, unnest($ends) AS hi) w
JOIN (SELECT * FROM spans WHERE dur >= $least AND (category = 'overhead' OR track IN (SELECT unnest($threads)))) s
    ON s.ts < w.hi AND s.ts + s.dur > w.lo
WHERE s.category = 'overhead' OR s.ts <= w.lo AND s.ts + s.dur >= w.hi
ORDER BY w.number, depth
"""
_USUAL_SQL: Final = """
SELECT name_id, quantile_disc(dur, 0.5) AS usual, count(*) AS number FROM spans
WHERE name_id IN (SELECT unnest($names)) AND category = 'op' AND dur IS NOT NULL GROUP BY 1
"""
#: What explains that nothing else is recorded meanwhile.
_EXPLAINED: Final = ("runtime", "launch", "sync", "queue", "gc", "dataloader", "overhead")


@dataclass(frozen=True, slots=True)
class Pauses:
    """The n pauses of the host, in time order.

    Attributes:
        starts: int64[n].
        ends: int64[n].
        inside: How many of them lie inside an operator, the others between two of them.
    """

    starts: Times
    ends: Times
    inside: int


@signal()
def pauses(s: Signals) -> Pauses:
    """Pauses of the host: stretches without any event, where the same thing usually takes far less time."""
    hosts = s.trace.once(host_states)
    if hosts is None or not hosts.python:
        raise MissingInputError(
            "the recording has no operators", hint="record the host (PyTorch: activities=[CPU, CUDA])"
        )
    threads = list(hosts.feeders)
    starts, ends, place, step = _silent(s, threads)
    if not starts.size:
        return Pauses(starts, ends, 0)
    usual, inside = _unexplained(s, threads, starts, ends)
    chosen = usual & ~_regular(place, step, s(recorded_steps), ends - starts)
    return Pauses(starts[chosen], ends[chosen], int(np.count_nonzero(inside & chosen)))


@signal("share")
def paused_share(s: Signals) -> float:
    """Pauses of the host as a share of the mean step."""
    found = s(pauses)
    return int((found.ends - found.starts).sum()) / s(recorded_steps) / s(step_ns)


Silent = tuple[Times, Times, NDArray[np.float64], NDArray[np.int64]]


def _silent(s: Signals, threads: list[int]) -> Silent:
    """Long stretches in steps without any begin or end of an event, their place within the step, and the step."""
    rows = s.trace.columns(_BOUNDS_SQL, {"threads": threads})
    steps = s.trace.columns(_STEPS_SQL)
    bounds = distinct(np.concatenate((rows["ts"], rows["stop"], steps["ts"], steps["stop"])))
    starts, ends = bounds[:-1], bounds[1:]
    step = np.searchsorted(steps["ts"], starts, side="right") - 1
    found = (step >= 0) & (ends - starts >= _LEAST_NS)
    found[found] &= ends[found] <= steps["stop"][step[found]]
    at = np.flatnonzero(found)
    at = np.sort(at[np.argsort(starts[at] - ends[at], kind="stable")[:_MOST]])
    first = np.searchsorted(bounds, steps["ts"][step[at]])
    events = np.searchsorted(bounds, steps["stop"][step[at]]) - first
    return starts[at], ends[at], (at - first) / np.maximum(events, 1), step[at]


def _unexplained(
    s: Signals, threads: list[int], starts: Times, ends: Times
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Which stretches no event explains, and which lie inside an operator that is usually short."""
    free, within, inside = (np.full(starts.size, flag) for flag in (True, False, False))
    rows = s.trace.columns(
        _AROUND_SQL,
        {"numbers": list(range(starts.size)), "starts": starts.tolist(), "ends": ends.tolist(), "threads": threads,
         "least": _LEAST_NS},
    )  # fmt: skip
    free[rows["number"][np.isin(rows["category"].astype(str), _EXPLAINED)]] = False
    operators = np.flatnonzero(rows["category"] == "op")
    number, name, dur = (rows[column][operators] for column in ("number", "name_id", "dur"))
    usual = _usual(s, name)
    within[number] = True
    # Of several operators around a stretch the innermost one comes last, and stays.
    inside[number] = [
        took > _OUTLIER * usual.get(one, took) for one, took in zip(name.tolist(), dur.tolist(), strict=True)
    ]
    return free & (inside | ~within), inside


def _usual(s: Signals, names: NDArray[Any]) -> dict[int, int]:
    """What operators of these names usually take, where there are several of them."""
    rows = s.trace.rows(_USUAL_SQL, {"names": np.unique(names).tolist()})
    return {row["name_id"]: row["usual"] for row in rows if row["number"] > 2}


def _regular(place: NDArray[np.float64], step: NDArray[np.int64], steps: int, length: Times) -> NDArray[np.bool_]:
    """Which stretches recur at the same place in half of the other steps; all, if these are too few to tell."""
    if steps < 3:
        return np.ones(place.size, np.bool_)
    regular = np.zeros(place.size, np.bool_)
    for one in range(place.size):
        alike = (np.abs(place - place[one]) <= _SAME_PLACE) & (2 * length >= length[one]) & (step != step[one])
        regular[one] = 2 * np.unique(step[alike]).size >= steps - 1
    return regular
