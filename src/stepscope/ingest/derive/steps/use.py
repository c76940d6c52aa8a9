"""From when to when devices were in use: the window of a recording without steps."""

from __future__ import annotations

from typing import Final

import numpy as np

from stepscope.model.intervals import Times
from stepscope.store.staging import Staging

_WORK: Final = """
WITH work AS (
    SELECT e.ts, e.ts + coalesce(e.dur, 0) AS stop, e.correlation FROM raw_kernels k JOIN raw_events e ON e.id = k.event
    WHERE e.category <> 'sync' AND k.kind IS DISTINCT FROM 'sync'
)"""
#: From the launch of the first device work, or its start where that is not recorded, to the end of the last.
_USE_SQL: Final = f"""
{_WORK}, first AS (SELECT * FROM work ORDER BY ts, stop LIMIT 1)
SELECT least(min(ts), (
    SELECT min(h.ts) FROM raw_events h JOIN tracks t USING (track), first
    WHERE t.kind = 'host' AND h.correlation = first.correlation AND h.correlation > 0
        AND h.category IN ('launch', 'runtime', 'sync', 'copy', 'set') AND h.ts <= first.ts
)), max(stop) FROM work
"""
_WORK_SQL: Final = f"{_WORK} SELECT ts, stop FROM work ORDER BY ts, stop"
#: A pause of this part of the time or more, with no more than this part of the work, and of the activities, on one
#: side, lies before or behind what was recorded: a copy that was queued long ago, or one that fetches the result.
_PAUSE: Final = 0.5
_LITTLE: Final = 0.01


def in_use(staging: Staging, hosted: bool) -> tuple[int, int] | None:
    """Start and end of the devices' use in ns; None without device work.

    Args:
        staging: The recording.
        hosted: Whether the host is recorded, which shows what pauses are about; without it, a few activities that are
            far apart from all others are left out.
    """
    first, last = staging.one(_USE_SQL)
    if last is None:
        return None
    if not hosted:
        rows = staging.connection.execute(_WORK_SQL).fetchnumpy()
        first, last = together(rows["ts"], rows["stop"])
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
