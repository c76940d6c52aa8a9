"""Times of device work."""

from __future__ import annotations

import numpy as np

from stepscope.ingest.derive.activities import SYNC
from stepscope.ingest.derive.checks.share import share
from stepscope.ingest.derive.derived import Derived
from stepscope.store.staging import Observation


def zero_durations(derived: Derived) -> Observation | None:
    """Device work that took no time."""
    work = derived.activities.kind != SYNC
    zero, of = int(np.count_nonzero(derived.activities.instant & work)), int(np.count_nonzero(work))
    if not zero:
        return None
    return Observation(
        "duration-zero", "warning" if zero * 100 > of else "info", zero,
        f"device activities ({share(zero, of)}) have a duration of zero", "their time is missing from sums",
    )  # fmt: skip


def overlaps(derived: Derived) -> Observation | None:
    """Work that starts before its predecessor on the stream has ended."""
    found = derived.activities
    order = found.by_track[found.kind[found.by_track] != SYNC]
    ts = found.ts[order]
    stop = ts + found.dur[order]
    edges = np.flatnonzero(np.diff(found.track[order])) + 1
    queues = zip(np.split(ts, edges), np.split(stop, edges), strict=True)
    count = sum(int(np.count_nonzero(ts[1:] < np.maximum.accumulate(stop)[:-1])) for ts, stop in queues)
    if not count:
        return None
    return Observation(
        "kernels-overlap", "info", count, "device activities overlap another one on their stream",
        "none: time in which several run counts once (they may be launched to start early)",
    )  # fmt: skip
