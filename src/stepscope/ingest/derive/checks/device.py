"""Times of device work."""

from __future__ import annotations

from typing import Final

import numpy as np

from stepscope.ingest.derive.checks.share import share
from stepscope.store.staging import Observation, Staging

_TIMES_SQL: Final = "SELECT track, ts, ts + dur AS stop FROM kernels WHERE kind <> 'sync' ORDER BY track, ts, event"


def zero_durations(staging: Staging) -> Observation | None:
    """Device work that took no time."""
    zero, of = staging.one(
        "SELECT (SELECT count(*) FROM raw_events WHERE dur = 0 AND id IN "
        "(SELECT event FROM kernels WHERE dur = 0 AND kind <> 'sync')), count(*) FROM kernels WHERE kind <> 'sync'"
    )
    if not zero:
        return None
    return Observation(
        "duration-zero", "warning" if zero * 100 > of else "info", zero,
        f"device activities ({share(zero, of)}) have a duration of zero", "their time is missing from sums",
    )  # fmt: skip


def overlaps(staging: Staging) -> Observation | None:
    """Work that starts before its predecessor on the stream has ended."""
    rows = staging.connection.execute(_TIMES_SQL).fetchnumpy()
    edges = np.flatnonzero(np.diff(rows["track"])) + 1
    queues = zip(np.split(rows["ts"], edges), np.split(rows["stop"], edges), strict=True)
    count = sum(int(np.count_nonzero(ts[1:] < np.maximum.accumulate(stop)[:-1])) for ts, stop in queues)
    if not count:
        return None
    return Observation(
        "kernels-overlap", "info", count, "device activities overlap another one on their stream",
        "none: time in which several run counts once (they may be launched to start early)",
    )  # fmt: skip
