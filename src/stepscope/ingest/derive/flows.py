"""Table `flows`: links from launches to device work, and other recorded flows."""

from __future__ import annotations

from typing import Final

import pyarrow as pa

from stepscope.ingest.derive.activities import Activities

_LAUNCHES_SQL: Final = "SELECT 'launch' AS kind, source, target FROM launched"
_ENDS_SQL: Final = """
SELECT kind, key, x.owner AS event FROM raw_flows f JOIN flow_ends x ON f.rowid = x.row WHERE {}
"""
_FLOWS_SQL: Final = f"""
{_LAUNCHES_SQL}
UNION ALL
(SELECT s.kind, s.event, t.event
FROM ({_ENDS_SQL.format("is_source")}) s JOIN ({_ENDS_SQL.format("NOT is_source")}) t USING (kind, key)
ORDER BY s.kind, s.event, t.event)
"""


def flows_sql(ends: pa.Table) -> str:
    """The query for `flows` from the launches of kernels (`launched`) and the ends of other flows (`flow_ends`)."""
    return _FLOWS_SQL if len(ends) else _LAUNCHES_SQL


def launched(activities: Activities) -> pa.Table:
    """Source and target event of each launch's flow, by time of the launched work."""
    known = activities.launch >= 0
    return pa.table({"source": activities.launch[known], "target": activities.event[known]})
