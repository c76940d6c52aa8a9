"""Files of a stored recording and their columns.

    STORE/manifest.json     what the recording is, and the version of this layout
    STORE/events-*.parquet  `events` without `rank`, `name` and `args`, with `name_id`, by track and time
    STORE/names.parquet     name_id, name
    STORE/args-*.parquet    id, args, in the order of the recording
    STORE/input_*.parquet   `op_inputs` without `rank`: its distinct texts, and the calls that refer to them
    STORE/activities.parquet `kernels` without `rank`, with their launches
    STORE/TABLE.parquet     every other canonical table without `rank`

Empty tables have no file, except events, names and activities: each file costs a millisecond to write and to open.

Arguments are the widest and least read column, so they have files of their own. The rank is not stored since it depends
on the whole input.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from typing import Final

from stepscope.model.schema import Column, TableSchema, Type
from stepscope.model.tables import EVENTS, KERNELS, OP_INPUTS, TABLES
from stepscope.store.activities import ACTIVITIES
from stepscope.store.inputs import INPUT_CALLS, INPUT_TEXTS

#: To be raised whenever stored values change; columns and types are part of `VERSION` anyway.
_DESCRIPTIONS: Final = 10

#: Parquet options: the newer encodings are smaller and faster to read.
PARQUET: Final = "FORMAT parquet, PARQUET_VERSION V2, COMPRESSION zstd, COMPRESSION_LEVEL 1"
#: The same for few rows: what compresses them takes longer to be set up, 0.7 ms per file, than all else of writing.
PARQUET_OF_FEW: Final = "FORMAT parquet, PARQUET_VERSION V2, COMPRESSION uncompressed"

MANIFEST: Final = "manifest.json"
EVENTS_GLOB: Final = "events-*.parquet"
ARGS_GLOB: Final = "args-*.parquet"

SQL_TYPES: Final[dict[Type, str]] = {
    "int64": "BIGINT",
    "int32": "INTEGER",
    "float64": "DOUBLE",
    "string": "VARCHAR",
    "bool": "BOOLEAN",
    "int32[]": "INTEGER[]",
    "int64[]": "BIGINT[]",
    "string[]": "VARCHAR[]",
}

#: Canonical tables that are stored as they are declared, but for the rank.
PLAIN_TABLES: Final = tuple(table for table in TABLES if table not in (EVENTS, OP_INPUTS))

#: Tables that are stored as they are staged.
STORED_TABLES: Final = (
    *(table for table in PLAIN_TABLES if table is not KERNELS),
    ACTIVITIES,
    INPUT_CALLS,
    INPUT_TEXTS,
)

#: Columns of `spans`, in order: `events` without the wide ones.
SPAN_COLUMNS: Final = tuple(
    "name_id" if column.name == "name" else column.name for column in EVENTS.columns if column.name != "args"
)


def _version(tables: Iterable[TableSchema], columns: Iterable[str]) -> str:
    """Fingerprint of the stored schema."""
    described = [[table.name, [(column.name, column.type) for column in table.columns]] for table in tables]
    digest = hashlib.sha256(json.dumps([described, list(columns), SQL_TYPES, PARQUET]).encode())
    return f"{_DESCRIPTIONS}-{digest.hexdigest()[:16]}"


#: Version of stores that this module describes.
VERSION: Final = _version(STORED_TABLES, SPAN_COLUMNS)


def stored_columns(table: TableSchema) -> tuple[Column, ...]:
    """The columns of a canonical table as stored."""
    return tuple(column for column in table.columns if column.name != "rank")


def columns_sql(columns: tuple[Column, ...]) -> str:
    """The column list of a CREATE TABLE statement."""
    return ", ".join(f'"{column.name}" {SQL_TYPES[column.type]}' for column in columns)
