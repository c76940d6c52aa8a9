"""Steps from overlapping requests of a server: each lasts from its start to the start of the next one."""

from __future__ import annotations

import re
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from stepscope.ingest.derive.steps.evidence import counts_between, given_work, trains
from stepscope.ingest.derive.steps.step import HostStep
from stepscope.model.intervals import Times
from stepscope.store.staging import Staging

#: Least number of requests, on at least two threads, and least average number in progress.
_FEWEST: Final = 5
_IN_PROGRESS: Final = 1.2
#: Least share of launches inside requests, and of requests that launch anything before the next one starts.
_COVER: Final = 0.5
_WORKING: Final = 0.5
#: Ranges of libraries around operators, and of work ahead of a request.
_OTHER: Final = re.compile(
    r"^(?:nccl|gloo|c10d|hccl):|^## Call |^Torch-Compiled|^autograd::|load|fetch|decode|preproc|transform|collate", re.I
)
#: Names of servers' ranges around a request; runtime threads may launch its work.
_REQUEST: Final = re.compile(r"request|task::run|predict|(?<![a-z])infer|(?<![a-z])serve|handle|generate", re.I)

_SQL: Final = """
SELECT e.ts, e.ts + e.dur AS stop, e.track, n.name FROM raw_events e JOIN names n USING (name_id) JOIN tracks t
USING (track) WHERE e.category = 'annotation' AND t.kind = 'host' AND e.dur > 0 ORDER BY n.name, e.ts
"""
_THREADS_SQL: Final = """
SELECT e.ts, e.track FROM raw_events e JOIN tracks t USING (track)
WHERE t.kind = 'host' AND e.category = '{category}' ORDER BY e.ts
"""


def request_steps(staging: Staging) -> list[HostStep]:
    """The requests by start; the end of the last one is unknown. Empty if there are none."""
    rows = staging.connection.execute(_SQL).fetchnumpy()
    if not rows["ts"].size or trains(staging):
        return []
    work, done = given_work(staging)
    if not work.size:
        return []
    edges = np.flatnonzero(rows["name"][1:] != rows["name"][:-1]) + 1
    found = []
    for group in np.split(np.arange(rows["ts"].size), edges):
        one = {name: values[group] for name, values in rows.items()}
        if _overlaps(one) and (_REQUEST.search(str(one["name"][0])) or _cover(staging, one) >= _COVER):
            found.append((int((one["stop"] - one["ts"]).sum()), one))
    if not found:
        return []
    _, chosen = max(found, key=lambda pair: pair[0])
    starts = np.unique(chosen["ts"])
    limits = np.append(starts, max(int(done.max()), int(starts[-1]) + 1))
    if np.count_nonzero(counts_between(work, limits)) < _WORKING * starts.size:
        return []
    times = zip(starts.tolist(), np.diff(limits).tolist(), strict=True)
    return [HostStep(f"request {i}", None, start, dur, i == starts.size - 1) for i, (start, dur) in enumerate(times)]


def _overlaps(rows: dict[str, NDArray[Any]]) -> bool:
    """Whether ranges of one name are requests processed by several threads."""
    ts, stop = rows["ts"], rows["stop"]
    if ts.size < _FEWEST or np.unique(rows["track"]).size < 2 or _OTHER.search(str(rows["name"][0])):
        return False
    return bool((stop - ts).sum() >= _IN_PROGRESS * (stop.max() - ts.min()))


def _cover(staging: Staging, rows: dict[str, NDArray[Any]]) -> float:
    """Share of launches made inside these ranges by the range's own thread."""
    for category in ("launch", "op"):
        work = staging.connection.execute(_THREADS_SQL.format(category=category)).fetchnumpy()
        if work["ts"].size:
            break
    inside = 0
    for track in np.unique(rows["track"]).tolist():
        mine = rows["track"] == track
        given: Times = work["ts"][work["track"] == track]
        starts, stops = rows["ts"][mine], np.maximum.accumulate(rows["stop"][mine])
        at = np.searchsorted(starts, given, side="right") - 1
        inside += int(np.count_nonzero((at >= 0) & (given < stops[np.maximum(at, 0)])))
    return inside / work["ts"].size
