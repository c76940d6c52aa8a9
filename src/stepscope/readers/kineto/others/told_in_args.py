"""Facts in the arguments of events whose categories and names do not tell them."""

from __future__ import annotations

import re
from typing import Final

from stepscope.store.staging import Staging

#: Name of the relation that `find` makes.
FOUND: Final = "kineto_told"
_FIND_SQL: Final = f"""
CREATE OR REPLACE TEMP TABLE {FOUND} AS
SELECT a.id, regexp_extract(a.args, $pattern, 1) AS value
FROM read_parquet($files) a SEMI JOIN raw_events e ON e.id = a.id WHERE contains(a.args, $quoted)
"""
_RENAME_SQL: Final = """
UPDATE raw_events SET name_id = n.name_id FROM ({renamed}) r JOIN names n USING (name) WHERE raw_events.id = r.id
"""


def find(staging: Staging, key: str) -> int:
    """Make the relation `FOUND (id, value)` of the events with such an argument, text or number.

    Returns:
        How many there are.
    """
    files = sorted(map(str, staging.folder.glob("args-*.parquet")))
    if not files:
        staging.connection.execute(f"CREATE OR REPLACE TEMP TABLE {FOUND} (id BIGINT, value VARCHAR)")
        return 0
    quoted = f'"{key}"'
    pattern = re.escape(quoted) + r'\s*:\s*"?((?:[^"\\,}\]]|\\.)*)'
    parameters = {"pattern": pattern, "quoted": quoted, "files": files}
    staging.connection.execute(_FIND_SQL, parameters)
    [number] = staging.one(f"SELECT count(*) FROM {FOUND}")
    return int(number or 0)


def rename(staging: Staging, renamed: str) -> None:
    """Rename events, as a query of (id, name) says."""
    staging.intern_names(f"({renamed})")
    staging.connection.execute(_RENAME_SQL.format(renamed=renamed))
