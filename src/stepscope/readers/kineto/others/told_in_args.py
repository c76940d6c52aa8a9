"""Facts in the arguments of events whose categories and names do not tell them."""

from __future__ import annotations

import re
from typing import Final

from stepscope.store.staging import Staging

_EMPTY_SQL: Final = "CREATE OR REPLACE TEMP TABLE kineto_told (id BIGINT, key VARCHAR, value VARCHAR)"
_FIND_SQL: Final = """
INSERT INTO kineto_told
SELECT id, key, regexp_extract(args, pattern, 1) FROM (
    SELECT a.id, a.args, unnest($keys) AS key, unnest($quoted) AS quoted, unnest($patterns) AS pattern
    FROM read_parquet($files) a SEMI JOIN raw_events e ON e.id = a.id
) WHERE contains(args, quoted)
"""
_RENAME_SQL: Final = """
UPDATE raw_events SET name_id = n.name_id FROM ({renamed}) r JOIN names n USING (name) WHERE raw_events.id = r.id
"""


def find(staging: Staging, *keys: str) -> frozenset[str]:
    """Look for events with such arguments, texts or numbers, in one pass over all arguments; `told` has them.

    Returns:
        The keys that any event has.
    """
    staging.connection.execute(_EMPTY_SQL)
    files = sorted(map(str, staging.folder.glob("args-*.parquet")))
    if files:
        quoted = [f'"{key}"' for key in keys]
        patterns = [re.escape(one) + r'\s*:\s*"?((?:[^"\\,}\]]|\\.)*)' for one in quoted]
        parameters = {"keys": list(keys), "quoted": quoted, "patterns": patterns, "files": files}
        staging.connection.execute(_FIND_SQL, parameters)
    return frozenset(key for (key,) in staging.connection.execute("SELECT DISTINCT key FROM kineto_told").fetchall())


def told(key: str) -> str:
    """A query of (id, value), of the events in which `find` has found an argument."""
    return f"(SELECT id, value FROM kineto_told WHERE key = '{key}')"


def rename(staging: Staging, renamed: str) -> None:
    """Rename events, as a query of (id, name) says."""
    staging.intern_names(f"({renamed})")
    staging.connection.execute(_RENAME_SQL.format(renamed=renamed))
