"""Split a single recorded step into the network passes it consists of, as in denoising and token generation.

Profiling one call of a pipeline, or of `generate`, gives one recorded step. The network's pass is what recurs in it;
encoding a prompt before and decoding an image after are not part of the loop.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from stepscope.ingest.derive.steps.evidence import given_work, trains
from stepscope.ingest.derive.steps.step import HostStep
from stepscope.store.staging import Staging

#: Least number of passes, and their least share of the step's launches or of its time.
_FEWEST: Final = 3
_COVER: Final = 0.6
#: Most work between two passes, as a share of the passes' own: beyond it they are parts of something larger.
_BETWEEN: Final = 0.2

_MODULES_SQL: Final = """
SELECT e.ts, e.ts + e.dur AS stop, n.name FROM raw_events e JOIN names n USING (name_id) JOIN tracks t USING (track)
WHERE t.kind = 'host' AND e.category = 'module' AND e.dur > 0 AND e.ts >= ? AND e.ts + e.dur <= ?
ORDER BY e.ts, e.dur DESC
"""


def passes_of(staging: Staging, steps: list[HostStep]) -> list[HostStep]:
    """The network passes that the only step consists of; the given steps if it does not.

    Passes are calls of one module that no other module calls: layers are called by the network.
    """
    whole = [step for step in steps if not step.partial]
    if len(whole) != 1 or trains(staging):
        return steps
    [step] = whole
    rows = staging.connection.execute(_MODULES_SQL, [step.ts, step.ts + step.dur]).fetchnumpy()
    if rows["ts"].size < _FEWEST:
        return steps
    reach = np.concatenate(([np.iinfo(np.int64).min], np.maximum.accumulate(rows["stop"])[:-1]))
    outer = rows["ts"] >= reach
    ts, stop, names = rows["ts"][outer], rows["stop"][outer], rows["name"][outer]
    work, _ = given_work(staging)
    work = work[(work >= step.ts) & (work < step.ts + step.dur)]
    given = np.searchsorted(work, stop) - np.searchsorted(work, ts)
    for name in dict.fromkeys(names.tolist()):
        mine = np.flatnonzero(names == name)
        inside = int(given[mine].sum())
        if mine.size < _FEWEST:
            continue
        first, last = int(ts[mine[0]]), int(stop[mine[-1]])
        if inside < _COVER * work.size and last - first < _COVER * step.dur:
            continue
        between = int(np.searchsorted(work, last) - np.searchsorted(work, first)) - inside
        if between <= _BETWEEN * inside and (given[mine] > 0).all():
            # From one pass to the next: work between two passes belongs to the loop.
            edges = np.append(ts[mine], last)
            times = zip(edges[:-1].tolist(), np.diff(edges).tolist(), strict=True)
            return [HostStep(f"{name} {i}", None, start, length) for i, (start, length) in enumerate(times)]
    return steps


def network_passes(staging: Staging) -> list[HostStep]:
    """The network passes that a recording without marks consists of; empty if it does not."""
    first, last = staging.one("SELECT min(ts), max(ts + coalesce(dur, 0)) FROM raw_events")
    if first is None or last <= first:
        return []
    whole = [HostStep("whole recording", None, first, last - first)]
    passes = passes_of(staging, whole)
    return [] if passes is whole else passes
