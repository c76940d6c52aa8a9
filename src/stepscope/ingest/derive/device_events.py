"""Events of devices, and device work that is recorded on a host thread, as they are stored."""

from __future__ import annotations

from typing import Any, Final

import pyarrow as pa

from stepscope.ingest.derive.work import Work
from stepscope.store.staging import Staging

#: Activities lie in the order in which they are stored, unless further events or places on host threads come in.
_ACTIVITIES_SQL: Final = """
SELECT id, ts, dur, track, NULL::INTEGER AS depth, NULL::BIGINT AS parent, name_id,
    CASE WHEN kind = 'comm' THEN 'collective'::category ELSE category::category END AS category, step, correlation,
    external_id
FROM device_events
"""
_ALL_SQL: Final = f"""
SELECT e.id, e.ts, e.dur, e.track, n.depth, n.parent, e.name_id, e.category, coalesce(n.step, e.step) AS step,
    e.correlation, e.external_id
FROM ({_ACTIVITIES_SQL}) e LEFT JOIN work_nesting n USING (id)
UNION ALL
SELECT id, ts, dur, track, NULL, NULL, name_id, category, NULL, correlation, external_id
FROM raw_events
WHERE track IN (SELECT track FROM tracks WHERE kind <> 'host') AND id NOT IN (SELECT event FROM device_work)
ORDER BY track, ts, id
"""
#: Whether there is device work on host threads, and how many events of devices are no work.
_OTHERS_SQL: Final = """
SELECT EXISTS (FROM work_nesting), (SELECT count(*) FROM raw_events WHERE track IN ({tracks}))
    - (SELECT count(*) FROM device_work WHERE track IN ({tracks}))
"""


def device_events(work: Work, kind: Any, step: Any) -> pa.Table:
    """The events of n device activities by track and time, with the kind of activity and the step of each."""
    names = ("ts", "dur", "track", "name_id", "category", "correlation", "external_id")
    columns = {name: work.rows[name] for name in names} | {"id": work.rows["event"], "kind": kind, "step": step}
    return pa.table(columns).take(pa.array(work.by_track))


def device_events_sql(staging: Staging) -> str:
    """The query that stores them, with all other events of devices."""
    rows = staging.connection.execute("SELECT track FROM tracks WHERE kind <> 'host'").fetchall()
    tracks = ", ".join(str(track) for (track,) in rows) or "NULL"
    nested, others = staging.one(_OTHERS_SQL.format(tracks=tracks))
    return _ALL_SQL if nested or others else _ACTIVITIES_SQL
