"""A memory snapshot beside a recording of the same rank: the tables that the recording lacks."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from stepscope.model.recording import Recording
from stepscope.model.schema import TableSchema
from stepscope.model.tables import HEALTH, MEMORY
from stepscope.model.tables.memory import MEMORY_TABLES
from stepscope.store.layout import stored_columns
from stepscope.store.manifest import read_manifest

#: Tables that refer to each other, and so come from one recording.
_TOGETHER: Final = tuple(table.name for table in MEMORY_TABLES)
#: More than any recording lasts: a hundred days.
_LONG_AGO_NS: Final = 100 * 86_400 * 10**9


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The stored memory snapshot of a rank that has another recording too.

    Attributes:
        store: Its folder.
        shift_ns: Added to its times to give those of the rank's recording.
    """

    store: Path
    shift_ns: int

    @classmethod
    def of(cls, store: Path, recording: Recording) -> Snapshot:
        """The snapshot in a store beside a recording.

        If one of the clocks is unknown, its times are put so far before the recording that no step is theirs.
        """
        origin, other = read_manifest(store).origin_unix_ns, recording.origin_unix_ns
        return cls(store, -_LONG_AGO_NS if origin is None or other is None else origin - other)

    def rows(self, table: TableSchema, rank: int, store: Path) -> list[str]:
        """SELECT statements of the rows that it adds to a table of the recording in a store.

        Its health always; what the allocator held and did where the recording has none of it. Owners of memory are
        events of the snapshot, which are not added.
        """
        return _rows(table, rank, store, self)


def _rows(table: TableSchema, rank: int, store: Path, snapshot: Snapshot) -> list[str]:
    file = snapshot.store / f"{table.name}.parquet"
    if not file.exists():
        return []
    if table.name in _TOGETHER:
        wanted = not any((store / f"{name}.parquet").exists() for name in _TOGETHER)
    else:
        wanted = table is HEALTH or (table is MEMORY and not (store / f"{table.name}.parquet").exists())
    if not wanted:
        return []
    quoted = "'" + str(file).replace("'", "''") + "'"
    columns = {column.name: f'"{column.name}"' for column in stored_columns(table)}
    columns |= {
        column.name: f'"{column.name}" + {snapshot.shift_ns}'
        for column in stored_columns(table) if column.unit == "ns"
    }  # fmt: skip
    columns |= {"rank": f"{rank}::INTEGER", "owner": "NULL::BIGINT"}
    selected = ", ".join(f'{columns[name]} AS "{name}"' for name in table.names)
    return [f"SELECT {selected} FROM read_parquet([{quoted}])"]
