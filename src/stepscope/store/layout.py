"""Files of a stored recording, and the columns they hold.

    STORE/manifest.json     what the recording is, and the version of this layout
    STORE/events-*.parquet  `events` without `rank`, `name` and `args`, with `name_id`, by track and time
    STORE/names.parquet     name_id, name
    STORE/args-*.parquet    id, args, in the order of the recording
    STORE/input_*.parquet   `op_inputs` without `rank`: its distinct texts, and the calls that refer to them
    STORE/activities.parquet `kernels` without `rank`, with what launched each
    STORE/TABLE.parquet     every other canonical table without `rank`

A table without rows has no file, but for events, names and activities: each file costs a millisecond to write, and
again whenever the store is opened.

Arguments are by far the widest column and the least read, so they lie apart. The rank is not stored
since only the whole input tells which rank a recording is.
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

#: Raised whenever the same recording is stored with other values; what columns there are is part of `VERSION` anyway.
_MEANING: Final = 9

#: How Parquet files are written: the newer encodings are smaller and faster to read.
PARQUET: Final = "FORMAT parquet, PARQUET_VERSION V2, COMPRESSION zstd, COMPRESSION_LEVEL 1"

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
    """A text that is another one whenever a stored table has other columns, or they are of other types."""
    described = [[table.name, [(column.name, column.type) for column in table.columns]] for table in tables]
    digest = hashlib.sha256(json.dumps([described, list(columns), SQL_TYPES, PARQUET]).encode())
    return f"{_MEANING}-{digest.hexdigest()[:16]}"


#: What a store must be of to be read as this module describes.
VERSION: Final = _version(STORED_TABLES, SPAN_COLUMNS)


def stored_columns(table: TableSchema) -> tuple[Column, ...]:
    """The columns of a canonical table as stored."""
    return tuple(column for column in table.columns if column.name != "rank")


def columns_sql(columns: tuple[Column, ...]) -> str:
    """The columns as the body of a CREATE TABLE."""
    return ", ".join(f'"{column.name}" {SQL_TYPES[column.type]}' for column in columns)
