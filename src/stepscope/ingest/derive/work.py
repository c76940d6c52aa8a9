"""Recorded device activities by time, and lookups of further columns for them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from stepscope.ingest.derive.overview import Overview
from stepscope.model.categories import KERNEL_KINDS
from stepscope.model.events.lookup import match
from stepscope.model.intervals import Times, ascending
from stepscope.model.sizes import SIZES
from stepscope.store.staging import Staging

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: A CASE expression: faster than a lookup in a list of the words.
_KIND: Final = " ".join(f"WHEN '{kind}' THEN {code}" for code, kind in enumerate(KERNEL_KINDS))
_WORK_SQL: Final = f"""
SELECT k.event, e.ts, e.dur, e.track, e.name_id, enum_code(e.category)::TINYINT AS category, e.correlation,
    e.external_id, (CASE k.kind {_KIND} ELSE -1 END)::TINYINT AS kind, k.in_graph
FROM raw_kernels k JOIN raw_events e ON e.id = k.event
"""


@dataclass(frozen=True, slots=True)
class RecordedWork:
    """n recorded device activities by start time.

    Attributes:
        rows: Columns as recorded; `category` as position in `CATEGORIES`, `kind` as position in `KERNEL_KINDS`,
            -1 where it is not recorded.
        event: int64[n], event id.
        ts: int64[n], start in ns.
        by_track: int64[n], positions sorted by track, then by time.
        on_host: int64[m], event ids of those recorded on host threads.
    """

    rows: pa.Table
    event: NDArray[np.int64]
    ts: Times
    by_track: NDArray[np.int64]
    on_host: NDArray[np.int64]

    @classmethod
    def read(cls, staging: Staging, overview: Overview) -> RecordedWork:
        """Read all device activities."""
        rows = staging.connection.sql(_WORK_SQL).to_arrow_table().combine_chunks()
        order = ascending(rows["event"].to_numpy())
        # Almost sorted: a stable sort merges runs.
        rows = rows.take(pa.array(order[np.argsort(rows["ts"].to_numpy()[order], kind="stable")]))
        event, track = rows["event"].to_numpy(), rows["track"].to_numpy()
        on_host = event[np.isin(track, list(overview.hosts))]
        return cls(rows, event, rows["ts"].to_numpy(), ascending(track), on_host)

    @property
    def is_small(self) -> bool:
        """Whether many columns of these activities may be in memory twice."""
        return self.event.size <= SIZES.joined_activities

    def numbers(self, name: str) -> NDArray[Any]:
        """A column of integers, with -1 for null."""
        column = self.rows[name]
        values: NDArray[Any] = (column.fill_null(-1) if column.null_count else column).to_numpy()
        return values

    def joined_with(self, table: pa.Table) -> pa.Table:
        """Left join with `table` on column `event`: a row per activity, nulls where there is none."""
        return taken(table, match(table["event"].to_numpy(), self.event))

    def joined(self, staging: Staging, table: str, columns: Sequence[str]) -> dict[str, pa.ChunkedArray]:
        """Left join with columns of a staged table on column `event`; nulls where there is no row.

        Safe to run beside other statements. With many activities one column is copied at a time, to bound memory.
        """
        found: dict[str, pa.ChunkedArray] = {}
        with staging.connect() as connection:
            if self.is_small:
                rows = connection.sql(f"SELECT event, {', '.join(columns)} FROM {table}").to_arrow_table()
                joined = self.joined_with(rows)
                return {name: joined[name] for name in columns}
            keys = connection.execute(f"SELECT event FROM {table}").fetchnumpy()["event"]
            position = match(keys, self.event)
            for name in columns:
                rows = connection.sql(f"SELECT {name} FROM {table}").to_arrow_table()
                found[name] = taken(rows, position)[name]
        return found


def taken(table: pa.Table, position: NDArray[np.int64]) -> pa.Table:
    """Rows of a table by position; nulls for -1."""
    missing = position < 0
    return table.combine_chunks().take(pa.array(position, mask=missing if missing.any() else None))


def words(codes: NDArray[Any], listed: Sequence[str | None]) -> pa.Array:
    """A dictionary column of words from their codes; null where the code is -1 or stands for None."""
    missing = np.array([word is None for word in listed], np.bool_)
    unknown = (codes < 0) | (missing[codes] if missing.any() else False)
    narrow = codes.astype(np.int8 if len(listed) < np.iinfo(np.int8).max else np.int32)
    dictionary = pa.array([word or "" for word in listed], pa.string())
    return pa.DictionaryArray.from_arrays(pa.array(narrow, mask=unknown), dictionary)
