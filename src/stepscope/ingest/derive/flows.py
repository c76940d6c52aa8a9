"""Arrows between events."""

from __future__ import annotations

from typing import Final

from stepscope.store.staging import Staging

_FLOWS_SQL: Final = """
CREATE TABLE flows AS
SELECT 'launch' AS kind, launch AS source, event AS target FROM kernels WHERE launch IS NOT NULL
UNION ALL
SELECT s.kind, s.event, t.event
FROM (SELECT kind, key, event FROM raw_flows f JOIN flow_ends x ON f.rowid = x.row WHERE is_source) s
JOIN (SELECT kind, key, event FROM raw_flows f JOIN flow_ends x ON f.rowid = x.row WHERE NOT is_source) t
USING (kind, key)
"""


def resolve_flows(staging: Staging) -> None:
    """Fill `flows` from the launches of kernels and the recorded ends of other arrows."""
    staging.connection.execute(_FLOWS_SQL)
