"""Evidence on loops from the staged events: when work was launched, and whether the program trains."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from stepscope.model.intervals import Times
from stepscope.store.staging import Staging

_WORK_SQL: Final = """
SELECT e.ts, e.ts + coalesce(e.dur, 0) AS stop FROM raw_events e JOIN tracks t USING (track)
WHERE t.kind = 'host' AND e.category = '{category}' ORDER BY e.ts
"""
_ANNOTATIONS_SQL: Final = """
SELECT e.ts, e.ts + e.dur AS stop, e.track, n.name FROM raw_events e JOIN names n USING (name_id) JOIN tracks t
USING (track) WHERE e.category = 'annotation' AND t.kind = 'host' AND e.dur > 0 ORDER BY e.track, e.ts, e.dur DESC
"""
_TRAINS_SQL: Final = """
SELECT count(*) > 0 FROM raw_events JOIN names USING (name_id)
WHERE category IN ('op', 'annotation') AND (
    starts_with(name, 'Optimizer.') OR starts_with(name, 'autograd::') OR ends_with(name, 'Backward')
    OR regexp_matches(name, 'Backward[0-9]*$') OR regexp_matches(name, '_backward$')
)
"""
_CALLS_SQL: Final = """
SELECT e.track, e.ts, e.ts + e.dur AS stop FROM raw_events e JOIN tracks t USING (track)
WHERE t.kind = 'host' AND e.category IN ('module', 'op') AND e.dur > ?
"""


def annotation_ranges(staging: Staging) -> dict[str, NDArray[Any]]:
    """`ts`, `stop`, `track` and `name` of the annotations of host threads, by thread and start, the longest first."""
    return staging.connection.execute(_ANNOTATIONS_SQL).fetchnumpy()


def given_work(staging: Staging, categories: Sequence[str] = ("launch", "op")) -> tuple[Times, Times]:
    """Start and end of each launching call; without a device, of operators.

    Returns:
        Starts, int64[n] ascending, and ends, int64[n], in ns; empty if there are neither.
    """
    for category in categories:
        rows = staging.connection.execute(_WORK_SQL.format(category=category)).fetchnumpy()
        if rows["ts"].size:
            return rows["ts"], rows["stop"]
    return np.zeros(0, np.int64), np.zeros(0, np.int64)


def reach(stops: Times) -> Times:
    """Running maximum of the ends of all earlier events, int64[n]; events ascend by start."""
    latest: Times = np.maximum.accumulate(np.concatenate(([np.iinfo(np.int64).min], stops[:-1])))
    return latest[: stops.size]


def outermost(ts: Times, stops: Times) -> NDArray[np.bool_]:
    """Whether each range lies in no other, bool[n]; ranges ascend by start, the longest first."""
    outer: NDArray[np.bool_] = ts >= reach(stops)
    return outer


def trains(staging: Staging) -> bool:
    """Whether anything ran that occurs in training only."""
    [found] = staging.one(_TRAINS_SQL)
    return bool(found)


def within_one_call(staging: Staging, starts: Times) -> bool:
    """Whether one module or operator contains several of the start times, as a model contains its layers.

    Args:
        staging: The recording.
        starts: int64[n], start times in ns, ascending, at least two.
    """
    calls = staging.connection.execute(_CALLS_SQL, [int(np.diff(starts).min())]).fetchnumpy()
    contained = np.searchsorted(starts, calls["stop"]) - np.searchsorted(starts, calls["ts"])
    return bool((contained >= 2).any())


def counts_between(work: Times, edges: Times) -> Times:
    """Number of work items that start between consecutive edges, int64[n - 1]."""
    found: Times = np.diff(np.searchsorted(work, edges))
    return found
