"""Stored form of device events, and of device work recorded on host threads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from stepscope.ingest.derive.activities import COMM
from stepscope.ingest.derive.overview import Overview
from stepscope.ingest.derive.work import RecordedWork
from stepscope.model.categories import CATEGORIES

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: SQL for a category's word from its position in `CATEGORIES`.
_WORDS: Final = " ".join(f"WHEN {code} THEN '{name}'::category" for code, name in enumerate(CATEGORIES))
CATEGORY_SQL: Final = f"CASE category {_WORDS} END AS category"

#: Activities are in storage order already, unless further events or work on host threads is added.
_ACTIVITIES_SQL: Final = f"""
SELECT id, ts, dur, track, NULL::INTEGER AS depth, NULL::BIGINT AS parent, name_id, {CATEGORY_SQL}, step, correlation,
    external_id
FROM device_events
"""
#: Other events belong to the step of the collective that they are a part of, else to that in which they start.
_ALL_SQL: Final = f"""
SELECT e.id, e.ts, e.dur, e.track, n.depth, n.parent, e.name_id, e.category, coalesce(n.step, e.step) AS step,
    e.correlation, e.external_id
FROM ({_ACTIVITIES_SQL}) e LEFT JOIN nested_work n USING (id)
UNION ALL
SELECT o.id, o.ts, o.dur, o.track, NULL, NULL, o.name_id, o.category,
    coalesce(w.step, CASE WHEN o.ts < p.stop THEN p.step END), o.correlation, o.external_id
FROM (
    FROM raw_events
    WHERE track IN (SELECT track FROM tracks WHERE kind <> 'host') AND id NOT IN (SELECT id FROM device_events)
) o
LEFT JOIN (SELECT event, any_value(collective) AS collective FROM comm_tasks GROUP BY 1) t ON t.event = o.id
LEFT JOIN device_events w ON w.id = t.collective
ASOF LEFT JOIN step_places p ON o.ts >= p.start
ORDER BY track, ts, id
"""


def device_events(work: RecordedWork, kind: NDArray[np.int8], step: Any) -> pa.Table:
    """The events of n device activities by track and time, with the kind of activity and the step of each."""
    category = np.where(kind == COMM, CATEGORIES.index("collective"), work.numbers("category")).astype(np.int8)
    names = ("ts", "dur", "track", "name_id", "correlation", "external_id")
    columns = {name: work.rows[name] for name in names} | {"id": work.rows["event"], "category": category, "step": step}
    return pa.table(columns).take(pa.array(work.by_track))


def device_events_sql(overview: Overview, work: RecordedWork) -> str:
    """The query that stores `device_events` with all other events of devices, and `nested_work`."""
    events = sum(number for track, number in overview.by_track.items() if track not in overview.hosts)
    others = events - (work.event.size - work.on_host.size)
    return _ALL_SQL if work.on_host.size or others else _ACTIVITIES_SQL
