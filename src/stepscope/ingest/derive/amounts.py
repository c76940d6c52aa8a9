"""Null impossible amounts: negative sizes, sizes beyond any memory, grids that lack a dimension."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from stepscope.store.staging import Staging

if TYPE_CHECKING:
    import pyarrow as pa

#: By staged table: columns that can't be negative, and columns of three numbers from 1 on. The upper limits, which no
#: machine reaches, keep sums of sizes and products of dimensions from overflowing.
_AMOUNTS: Final = {
    "raw_kernels": ("registers", "shared_bytes", "occupancy"),
    "copies": ("bytes",),
    "collectives": ("bytes", "world_size"),
}
_SIZES: Final = ("grid", "block")
_MOST_THREADS: Final = 10**18
_MOST_BYTES: Final = 2**44

_SIZES_SQL: Final = f"SELECT {', '.join(_SIZES)} FROM raw_kernels"
_BROKEN_SIZE: Final = "list_count({0}) <> 3 OR list_min({0}) < 1 OR list_product({0}) > " + str(_MOST_THREADS)


def clean_amounts(staging: Staging) -> None:
    """Set impossible values to null, as if they had not been recorded."""
    wrong = 0
    for table, names in _AMOUNTS.items():
        if staging.may_have(table):
            tests = {name: f'"{name}" < 0 OR "{name}" > {_MOST_BYTES}' for name in names}
            counts = ", ".join(f"count(*) FILTER ({test})" for test in tests.values())
            found = zip(tests.items(), staging.one(f"SELECT {counts} FROM {table}"), strict=True)
            wrong += sum(_null(staging, table, name, test) for (name, test), count in found if count)
    if staging.may_have("raw_kernels"):
        sizes = staging.connection.sql(_SIZES_SQL).to_arrow_table()
        broken = [name for name in _SIZES if not _all_sizes(sizes[name])]
        wrong += sum(_null(staging, "raw_kernels", name, _BROKEN_SIZE.format(name)) for name in broken)
    staging.observe(
        "amounts-impossible", "warning", wrong, "sizes of kernels, copies or collectives can't be true",
        "they count as not recorded",
    )  # fmt: skip


def _null(staging: Staging, table: str, column: str, test: str) -> int:
    [count] = staging.one(f"UPDATE {table} SET {column} = NULL WHERE {test}")
    return int(count)


def _all_sizes(lists: pa.ChunkedArray) -> bool:
    """Whether all lists are valid sizes, checked in NumPy, which is much faster on lists than SQL."""
    for chunk in lists.chunks:
        values = chunk.flatten()
        if values.null_count or len(values) != 3 * (len(chunk) - chunk.null_count):
            return False
        lengths = np.diff(chunk.offsets.to_numpy())[chunk.is_valid().to_numpy(zero_copy_only=False)]
        axes = values.to_numpy().reshape(-1, 3)
        if (lengths != 3).any() or (axes < 1).any() or (axes.prod(axis=1, dtype=np.float64) > _MOST_THREADS).any():
            return False
    return True
