"""The database export: one SQLite file with everything, and `analysis.db` with sums."""

from __future__ import annotations

import json
from collections.abc import Collection
from contextlib import closing
from pathlib import Path
from typing import Any

from stepscope.readers.ascend import summaries
from stepscope.readers.ascend.database import counters as db_counters
from stepscope.readers.ascend.database import device as db_device
from stepscope.readers.ascend.database import host as db_host
from stepscope.readers.ascend.database.analysis import analysis_rows
from stepscope.readers.ascend.database.tables import AscendDatabase
from stepscope.readers.ascend.gathered import RankMetadata
from stepscope.readers.ascend.vocabulary import NONE_NAMES
from stepscope.readers.protocol import Progress
from stepscope.store.staging import Staging


def read_database(path: Path, staging: Staging, progress: Progress) -> RankMetadata:
    """Gather all data of a rank's database."""
    with closing(AscendDatabase(path)) as database:
        found = _gather(database, staging)
    progress(path.stat().st_size)
    return found


def _gather(database: AscendDatabase, staging: Staging) -> RankMetadata:
    database.load(staging, "STRING_IDS", {"id": "int", "value": "text"}, "db_strings", key="id")
    staging.connection.execute(f"UPDATE db_strings SET value = NULL WHERE value IN {NONE_NAMES}")
    database.load(staging, "CONNECTION_IDS", {"id": "int", "connectionId": "int"}, "db_connections")
    db_host.gather(database, staging)
    db_device.gather(database, staging)
    db_counters.gather(database, staging)
    metadata, host = metadata_of(database), host_of(database)
    ranks = database.rows("RANK_DEVICE_MAP", "rankId")
    database.observe(staging)
    version = metadata.get("SCHEMA_VERSION")
    return RankMetadata(
        rank=ranks[0][0] if ranks and type(ranks[0][0]) is int and 0 <= ranks[0][0] < 2**31 else None,
        host=host,
        metadata=metadata,
        attributes={} if version is None else {"database_schema": str(version)},
    )


def read_analysis(path: Path, staging: Staging, kept: Collection[str] = ()) -> dict[str, str]:
    """Store the sums of `analysis.db` except sources in `kept`; returns the groups of collectives."""
    with closing(AscendDatabase(path)) as database:
        rows, groups = analysis_rows(database, kept)
        database.observe(staging)
    summaries.insert(staging, rows)
    return groups


def metadata_of(database: AscendDatabase) -> dict[str, Any]:
    """The metadata of a rank's database by name."""
    return {name: _parsed(value) for name, value in database.rows("META_DATA", "name", "value")}


def host_of(database: AscendDatabase) -> str | None:
    """The name of the machine; None if it is not recorded."""
    hosts = database.rows("HOST_INFO", "hostName")
    return str(hosts[0][0]) if hosts and hosts[0][0] else None


def _parsed(value: Any) -> Any:
    try:
        return json.loads(value)
    except (TypeError, ValueError, RecursionError):
        return value
