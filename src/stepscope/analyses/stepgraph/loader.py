"""Waits for batches that a loader's workers make: these have a pace of their own, whatever the job does."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stepscope.analyses.stepgraph import rows
from stepscope.analyses.stepgraph.rows import Calls
from stepscope.model.intervals import Times
from stepscope.model.trace import Trace

#: Taking a batch that is there takes no longer than this; what is longer in every step is a wait.
_TAKING_NS = 500_000

_WORKING_SQL = """
SELECT d.id FROM spans d JOIN names n USING (name_id)
WHERE d.category = 'dataloader' AND d.ts >= $lo AND d.ts < $hi AND (n.name LIKE '%SingleProcess%' OR EXISTS (
    SELECT 1 FROM spans s WHERE s.track = d.track AND s.ts >= d.ts AND s.ts + s.dur <= d.ts + d.dur
        AND s.category IN ('op', 'runtime', 'launch', 'sync')))
"""


@dataclass(frozen=True, slots=True)
class Batches:
    """The m batches that the job had to wait for, by time.

    Attributes:
        call: int64[m], positions in `Calls`.
        ready: int64[m], when the batch was there.
        own: int64[m], what taking it takes.
        pace: Time that the workers need per batch, as far as it shows.
    """

    call: NDArray[np.int64]
    ready: Times
    own: Times
    pace: int


def awaited_batches(trace: Trace, calls: Calls, lo: int, hi: int) -> Batches:
    """Find the calls that waited for workers; a loader that works on the host thread itself is no wait."""
    loading = np.flatnonzero(calls.role == rows.LOADER)
    none = Batches(loading[:0], calls.ts[:0], calls.ts[:0], 0)
    if not loading.size:
        return none
    working = trace.columns(_WORKING_SQL, {"lo": lo, "hi": hi})["id"]
    loading = loading[~np.isin(calls.id[loading], working)]
    loading = loading[np.argsort(calls.ts[loading], kind="stable")]
    took = calls.end[loading] - calls.ts[loading]
    if not took.size:
        return none
    own = min(int(took.min()), _TAKING_NS)
    waited = loading[took - own > own]
    if not waited.size:
        return none
    ready = calls.end[waited] - own
    number = np.searchsorted(calls.ts[loading], calls.ts[waited])
    batches = int(number[-1] - number[0])
    pace = int(ready[-1] - ready[0]) // batches if batches else int(calls.end[waited[0]] - lo)
    return Batches(waited, ready, np.full(waited.size, own), pace)
