"""Device activities by time, and what belongs to each of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from stepscope.model.intervals import ascending
from stepscope.model.lookup import match
from stepscope.store.staging import Staging

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

_GATHER_SQL: Final = """
CREATE TABLE device_work AS
SELECT k.event, e.ts, e.dur, e.track, e.name_id, e.category, e.correlation, e.external_id, k.kind, k.in_graph
FROM raw_kernels k JOIN raw_events e ON e.id = k.event
"""


def gather_work(staging: Staging) -> None:
    """Table `device_work`: what is needed of the events of device activities."""
    staging.connection.execute(_GATHER_SQL)


@dataclass(frozen=True, slots=True)
class Work:
    """n device activities by time.

    Attributes:
        rows: `device_work`, sorted.
        event: int64[n].
        by_track: int64[n], their positions by track, and then by time.
    """

    rows: pa.Table
    event: NDArray[np.int64]
    by_track: NDArray[np.int64]

    @classmethod
    def read(cls, staging: Staging) -> Work:
        """All of them."""
        rows = staging.connection.sql("SELECT * FROM device_work").to_arrow_table().combine_chunks()
        rows = rows.take(pa.array(np.lexsort((rows["event"].to_numpy(), rows["ts"].to_numpy()))))
        return cls(rows, rows["event"].to_numpy(), ascending(rows["track"].to_numpy()))

    def numbers(self, name: str) -> NDArray[Any]:
        """A column of integers, with -1 for null."""
        values: NDArray[Any] = self.rows[name].fill_null(-1).to_numpy()
        return values

    def told_by(self, table: pa.Table) -> pa.Table:
        """The row of `table`, by its column `event`, of each activity; nulls where there is none."""
        return taken(table, match(table["event"].to_numpy(), self.event))

    def joined(self, staging: Staging, table: str, key: str, own: str, columns: Sequence[str]) -> dict[str, Any]:
        """Columns of the row of a staged table whose `key` is the activity's column `own`; nulls where there is none.

        One column is copied at a time: all of them together take hundreds of MB of a long recording.
        """
        keys = staging.connection.execute(f"SELECT {key} FROM {table}").fetchnumpy()[key]
        position = match(keys, self.numbers(own))
        return {
            name: taken(staging.connection.sql(f"SELECT {name} FROM {table}").to_arrow_table(), position)[name]
            for name in columns
        }


def taken(table: pa.Table, position: NDArray[np.int64]) -> pa.Table:
    """Rows of a table by position; nulls for -1."""
    return table.combine_chunks().take(pa.array(position, mask=position < 0))


def words(codes: NDArray[Any], listed: Sequence[str | None]) -> pa.Array:
    """Words by their positions in a list; null where that is -1 or lists None."""
    missing = np.array([word is None for word in listed], np.bool_)
    unknown = (codes < 0) | (missing[codes] if missing.any() else False)
    narrow = codes.astype(np.int8 if len(listed) < np.iinfo(np.int8).max else np.int32)
    dictionary = pa.array([word or "" for word in listed], pa.string())
    return pa.DictionaryArray.from_arrays(pa.array(narrow, mask=unknown), dictionary)
