"""Steps of loops that nobody marked, from what PyTorch marks by itself: the loader is asked once per iteration."""

from __future__ import annotations

from typing import Final

import numpy as np

from stepscope.ingest.derive.step import Step
from stepscope.store.staging import Staging

#: As many iterations make a loop, and this share of them must give the device work, or run operators without one.
_FEWEST: Final = 3
_WORKING: Final = 0.8

_LOADED_SQL: Final = """
SELECT e.ts, e.track FROM raw_events e JOIN names n USING (name_id) JOIN tracks t USING (track)
WHERE e.category = 'dataloader' AND t.kind = 'host' AND n.name LIKE 'enumerate(DataLoader)#%__next__' ORDER BY e.ts
"""
_WORK_SQL: Final = """
SELECT e.ts, e.ts + coalesce(e.dur, 0) AS stop FROM raw_events e JOIN tracks t USING (track)
WHERE t.kind = 'host' AND e.category = '{category}' ORDER BY e.ts
"""


def loaded_steps(staging: Staging) -> list[Step]:
    """From one batch to the next; the last one lasts until the last work is given to the device. Empty if unclear."""
    marks = staging.connection.execute(_LOADED_SQL).fetchnumpy()
    if marks["ts"].size < _FEWEST or np.unique(marks["track"]).size > 1:
        return []
    for category in ("launch", "op"):
        work = staging.connection.execute(_WORK_SQL.format(category=category)).fetchnumpy()
        if work["ts"].size:
            break
    else:
        return []
    starts = marks["ts"]
    stops = np.append(starts[1:], max(int(work["stop"].max()), int(starts[-1]) + 1))
    given = np.searchsorted(work["ts"], stops) - np.searchsorted(work["ts"], starts)
    if np.count_nonzero(given) < _WORKING * starts.size:
        return []
    times = zip(starts.tolist(), (stops - starts).tolist(), (given == 0).tolist(), strict=True)
    return [Step(f"iteration {i}", None, start, dur, cut) for i, (start, dur, cut) in enumerate(times) if dur > 0]
