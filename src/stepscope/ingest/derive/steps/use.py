"""From when to when devices were in use: the window of a recording without steps."""

from __future__ import annotations

from typing import Final

import numpy as np

from stepscope.ingest.derive.activities import SYNC
from stepscope.ingest.derive.overview import Overview
from stepscope.ingest.derive.work import RecordedWork
from stepscope.model.categories import CATEGORIES
from stepscope.model.intervals import Times
from stepscope.store.staging import Staging

_SYNC: Final = CATEGORIES.index("sync")
#: The launch of work, which it can't precede.
_LAUNCH_SQL: Final = """
SELECT min(ts) FROM raw_events WHERE correlation = ? AND ts <= ? AND track IN ({})
    AND category IN ('launch', 'runtime', 'sync', 'copy', 'set')
"""
#: A pause of this part of the time or more, with no more than this part of the work, and of the activities, on one
#: side, lies before or behind what was recorded: a copy that was queued long ago, or one that fetches the result.
_PAUSE: Final = 0.5
_LITTLE: Final = 0.01


def in_use(staging: Staging, overview: Overview, work: RecordedWork, hosted: bool) -> tuple[int, int] | None:
    """Start and end of the devices' use in ns; None without device work.

    It starts with the launch of the first device work, or with that work where its launch is not recorded.

    Args:
        staging: The recording.
        overview: Its tracks.
        work: Its device activities.
        hosted: Whether the host is recorded, which shows what pauses are about; without it, a few activities that are
            far apart from all others are left out.
    """
    real = np.flatnonzero((work.numbers("category") != _SYNC) & (work.numbers("kind") != SYNC))
    if not real.size:
        return None
    ts, stop = work.ts[real], work.ts[real] + work.rows["dur"].fill_null(0).to_numpy()[real]
    order = np.lexsort((stop, ts))
    if hosted:
        first, last = int(ts[order[0]]), int(stop.max())
        correlation = int(work.numbers("correlation")[real[order[0]]])
        if correlation > 0 and overview.hosts:
            hosts = ", ".join(map(str, sorted(overview.hosts)))
            [called] = staging.one(_LAUNCH_SQL.format(hosts), [correlation, first])
            first = first if called is None else called
    else:
        first, last = together(ts[order], stop[order])
    return first, max(last, first + 1)


def together(ts: Times, stop: Times) -> tuple[int, int]:
    """Start and end of n >= 1 intervals by start, without a few at the ends that are far apart from the others."""
    reached = np.maximum.accumulate(stop)
    while ts.size > 1:
        gaps = ts[1:] - reached[:-1]
        cut = int(gaps.argmax()) + 1
        if gaps[cut - 1] < _PAUSE * (reached[-1] - ts[0]):
            break
        took = np.maximum(stop - ts, 0)
        before = (cut / ts.size, int(took[:cut].sum()) / max(int(took.sum()), 1))
        if max(before) <= _LITTLE:
            kept = slice(cut, None)
        elif min(before) >= 1 - _LITTLE:
            kept = slice(None, cut)
        else:
            break
        ts, stop, reached = ts[kept], stop[kept], np.maximum.accumulate(stop[kept])
    return int(ts[0]), int(reached[-1])
