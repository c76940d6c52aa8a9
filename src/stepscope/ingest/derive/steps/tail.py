"""End of the last step found from repeated work: with what follows that work, as in the step before."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from stepscope.model.intervals import Times
from stepscope.store.staging import Staging

#: Device work by launch, from a time on.
_LAUNCHED_SQL: Final = """
SELECT e.name_id, l.ts AS called, l.stop AS done FROM raw_events e JOIN tracks d USING (track) JOIN (
    SELECT h.correlation, min(h.ts) AS ts, max(h.ts + coalesce(h.dur, 0)) AS stop
    FROM raw_events h JOIN tracks t USING (track)
    WHERE t.kind = 'host' AND h.category IN ('launch', 'runtime') AND h.correlation > 0 AND h.ts > $since GROUP BY 1
) l ON l.correlation = e.correlation
WHERE d.kind = 'device' AND e.category IN ('kernel', 'collective', 'copy', 'set') ORDER BY called, e.ts, e.id
"""
#: The same where no launches are recorded, by its own start.
_RAN_SQL: Final = """
SELECT e.name_id, e.ts AS called, e.ts AS done FROM raw_events e JOIN tracks d USING (track)
WHERE d.kind = 'device' AND e.category IN ('kernel', 'collective', 'copy', 'set') AND e.ts > $since ORDER BY e.ts, e.id
"""


def tail_end(
    staging: Staging, called: Times, done: Times, launched: NDArray[np.bool_], positions: NDArray[np.int64]
) -> int:
    """When the last step's last call returns, in ns.

    What repeats may be kernels of one queue; behind them a step may copy results back, or work on other queues.

    Args:
        staging: The recording.
        called: int64[n], start of the launches of what repeats.
        done: int64[n], their ends.
        launched: bool[n], whether they are recorded; if not, both are the start of the work itself.
        positions: int64[m], where in them steps start.
    """
    last = int(done[positions[-1] :].max())
    if positions.size < 2:
        return last
    before = slice(int(positions[-2]), int(positions[-1]))
    since, until = int(called[before].max()), int(called[positions[-1] :].min())
    query = _LAUNCHED_SQL if launched[positions[-1] :].all() else _RAN_SQL
    rows = staging.connection.execute(query, {"since": since}).fetchnumpy()
    start = rows["called"]
    earlier, own = rows["name_id"][start < until], start > int(called[positions[-1] :].max())
    later, ends = rows["name_id"][own], rows["done"][own]
    shorter = min(earlier.size, later.size)
    differ = np.flatnonzero(earlier[:shorter] != later[:shorter])
    same = int(differ[0]) if differ.size else shorter
    return max(last, int(ends[:same].max(initial=last)))
