"""Health checks: times of device work."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from stepscope.ingest.derive.activities import SYNC
from stepscope.ingest.derive.checks.derived import Derived, share
from stepscope.language import said
from stepscope.store.staging import Observation

#: Number of durations needed to determine the clock's resolution.
_ENOUGH: Final = 3


def zero_durations(derived: Derived) -> Observation | None:
    """Device work with a duration of 0."""
    work = derived.activities.kind != SYNC
    zero, of = int(np.count_nonzero(derived.activities.instant & work)), int(np.count_nonzero(work))
    if not zero:
        return None
    if _ticks(derived.activities.dur[work & ~derived.activities.instant]):
        return Observation(
            "duration-zero", "info", zero,
            said("device activities ({share}) have a duration of zero", share=share(zero, of)),
            "none: times are recorded in whole microseconds, and they took less",
        )  # fmt: skip
    return Observation(
        "duration-zero", "warning" if zero * 100 > of else "info", zero,
        said("device activities ({share}) have a duration of zero", share=share(zero, of)), "their time is "
                                                                                            "missing from sums",
    )  # fmt: skip


def _ticks(durations: NDArray[np.int64]) -> bool:
    """Whether durations are whole microseconds (by chance only one in a thousand would be)."""
    return bool(durations.size >= _ENOUGH and not (durations % 1_000).any())


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
