"""Sums by name: the columns that every such table starts with, in SQL and in NumPy."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from stepscope.model.events.columns import names_by_id
from stepscope.model.intervals import Times
from stepscope.model.schema import TableSchema
from stepscope.model.table import Table
from stepscope.model.trace import Trace

#: `count` to `max_ns` of a column `dur` without nulls, for a query with GROUP BY.
SUMMARY_SQL = """count(*) AS count, sum(dur)::BIGINT AS total_ns, (sum(dur) // count(*))::BIGINT AS mean_ns,
    quantile_disc(dur, 0.5)::BIGINT AS median_ns, min(dur)::BIGINT AS min_ns, max(dur)::BIGINT AS max_ns"""

#: `share` of the sum of all rows, for a query over rows that have `total_ns`.
SHARE_SQL = "coalesce(total_ns / nullif(sum(total_ns) OVER (), 0), 0)::DOUBLE AS share"


@dataclass(frozen=True, slots=True)
class Groups:
    """Rows in groups of equal keys; groups ascend by key.

    Attributes:
        index: int64[n], group of each row.
        first: int64[g], a row of each group: its first.
        count: int64[g].
    """

    index: NDArray[np.int64]
    first: NDArray[np.int64]
    count: NDArray[np.int64]

    @classmethod
    def by(cls, *keys: NDArray[Any]) -> Groups:
        """Group rows by one or more integer keys, each of n values of at least -1."""
        combined = keys[0].astype(np.int64)
        for key in keys[1:]:
            width = int(key.max(initial=0)) + 2
            if int(combined.max(initial=0)) * width > key.size:
                combined = _numbered(combined)[0]  # dense again, so that multiplying can't overflow
            combined = combined * width + key + 1
        return cls(*_numbered(combined))

    def sum(self, values: NDArray[Any]) -> Times:
        """Sum of integer values per group, int64[g], exact."""
        total = np.zeros(self.count.size, np.int64)
        np.add.at(total, self.index, values.astype(np.int64, copy=False))  # of one type it is far quicker
        return total

    def least(self, values: Times) -> Times:
        """Smallest value per group, int64[g]."""
        least = np.full(self.count.size, np.iinfo(np.int64).max)
        np.minimum.at(least, self.index, values)
        return least

    def most(self, values: Times) -> Times:
        """Largest value per group, int64[g]."""
        most = np.full(self.count.size, np.iinfo(np.int64).min)
        np.maximum.at(most, self.index, values)
        return most

    def summary(self, dur: Times) -> dict[str, Times]:
        """`count`, `total_ns`, `mean_ns`, `median_ns`, `min_ns` and `max_ns` of the rows' durations."""
        stops = np.cumsum(self.count)
        starts = stops - self.count
        ordered = self._ordered(dur, starts, stops)
        total = self.sum(dur)
        return {
            "count": self.count,
            "total_ns": total,
            "mean_ns": total // self.count,
            "median_ns": ordered[starts + (self.count - 1) // 2],
            "min_ns": ordered[starts],
            "max_ns": ordered[stops - 1],
        }

    def summary_of(self, rows: slice | NDArray[np.bool_], values: Times) -> dict[str, list[int | None]]:
        """The same of some rows only; None for groups without any of them."""
        index = self.index[rows]
        some = Groups.by(index)
        groups = index[some.first].tolist()
        found: dict[str, list[int | None]] = {}
        for name, of_group in some.summary(values).items():
            known = dict(zip(groups, of_group.tolist(), strict=True))
            found[name] = [known.get(group) for group in range(self.count.size)]
        return found

    def _ordered(self, dur: Times, starts: Times, stops: Times) -> Times:
        """The rows' durations by group and ascending; groups start and end at these positions."""
        if self.count.size > min(self.index.size >> 6, np.iinfo(np.int16).max):
            return dur[np.lexsort((dur, self.index))]
        ordered: Times = dur[np.argsort(self.index.astype(np.int16), kind="stable")]  # 16 bits sort by radix
        for low, high in zip(starts.tolist(), stops.tolist(), strict=True):
            ordered[low:high].sort()
        return ordered

    def union(self, starts: Times, ends: Times, group: NDArray[np.int64]) -> Times:
        """Time covered by intervals of each group, int64[g]; `group` is the group of each interval."""
        order = np.lexsort((starts, group))
        starts, ends, group = starts[order], ends[order], group[order]
        # Ranks instead of times, so that adding an offset per group can't overflow.
        ranked, rank = np.unique(ends, return_inverse=True)
        reach = np.maximum.accumulate(rank + group * ranked.size) - group * ranked.size
        before = np.full(starts.size, np.iinfo(np.int64).min)
        before[1:] = np.where(group[1:] == group[:-1], ranked[reach[:-1]], before[1:])
        covered = np.zeros(self.count.size, np.int64)
        np.add.at(covered, group, np.maximum(ends - np.maximum(starts, before), 0))
        return covered


def _numbered(keys: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """The group of each key, equal ones together and ascending, and the first row and the size of each group."""
    low = int(keys.min(initial=0))
    span = int(keys.max(initial=-1)) - low + 1
    if span > 2 * keys.size + 1024:
        _, first, index, count = np.unique(keys, return_index=True, return_inverse=True, return_counts=True)
        return index, first, count
    count = np.bincount(keys - low, minlength=span)
    used = np.flatnonzero(count)
    group = np.zeros(span, np.int64)
    group[used] = np.arange(used.size)
    index = group[keys - low]
    first = np.empty(used.size, np.int64)
    first[index[::-1]] = np.arange(keys.size - 1, -1, -1)  # the last one written is the first row
    return index, first, count[used]


def shares(total: Times, whole: int) -> NDArray[np.float64]:
    """Each total as a share of the whole; 0 where the whole is 0."""
    return total / whole if whole else np.zeros(total.size)


def texts(trace: Trace, name_ids: NDArray[Any]) -> list[str | None]:
    """The names with these ids; None for -1."""
    names = trace.once(names_by_id)
    return [names.get(i) for i in name_ids.tolist()]


def ordered_table(schema: TableSchema, columns: dict[str, Any], ties: Sequence[str] = ()) -> Table:
    """The table with rows by `total_ns` descending, then by name, then by further columns."""
    table = Table.of(schema, columns)
    keys = [("total_ns", "descending"), *((key, "ascending") for key in ("name", *ties))]
    return Table.from_arrow(schema, table.arrow.sort_by(keys))


def by_name(trace: Trace, schema: TableSchema, query: str, parameters: dict[str, object] | None = None) -> Table:
    """The table of a query over one rank; its columns are the schema's except for the rank."""
    arrow: pa.Table = trace.sql(query, parameters)
    rank = pa.array([trace.ranks[0]] * arrow.num_rows, pa.int32())
    return Table.from_arrow(schema, arrow.append_column("rank", rank))


def nullable(values: NDArray[Any], unknown: NDArray[np.bool_]) -> list[Any]:
    """Values as a list with None where they are unknown."""
    return [None if hidden else value for value, hidden in zip(values.tolist(), unknown.tolist(), strict=True)]


def nonempty(words: Iterable[str]) -> list[str | None]:
    """Words as a list with None for the empty one."""
    return [word or None for word in words]
