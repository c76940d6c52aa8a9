"""Amounts that can't be true: negative sizes, sizes beyond any memory, grids that lack a dimension."""

from __future__ import annotations

from typing import Final

from stepscope.store.staging import Staging

#: By staged table: columns whose values can't be negative, and lists of three numbers from 1 on. Sums of sizes and
#: products of dimensions beyond the limits, which no machine reaches, would overflow.
_AMOUNTS: Final = {
    "raw_kernels": ("registers", "shared_bytes", "occupancy"),
    "copies": ("bytes",),
    "collectives": ("bytes", "world_size"),
}
_SIZES: Final = {"raw_kernels": ("grid", "block")}
_MOST_THREADS: Final = 10**18
_MOST_BYTES: Final = 2**44


def clean_amounts(staging: Staging) -> None:
    """Null what can't be true, as if it had not been recorded."""
    wrong = 0
    for table in _AMOUNTS:
        broken = {f'"{name}"': f'"{name}" < 0 OR "{name}" > {_MOST_BYTES}' for name in _AMOUNTS[table]}
        for name in _SIZES.get(table, ()):
            broken[name] = f"list_count({name}) <> 3 OR list_min({name}) < 1 OR list_product({name}) > {_MOST_THREADS}"
        counts = ", ".join(f"count(*) FILTER (WHERE {condition})" for condition in broken.values())
        for column, count in zip(broken, staging.one(f"SELECT {counts} FROM {table}"), strict=True):
            if count:
                staging.connection.execute(f"UPDATE {table} SET {column} = NULL WHERE {broken[column]}")
                wrong += count
    staging.observe(
        "amounts-impossible", "warning", wrong, "sizes of kernels, copies or collectives can't be true",
        "they count as not recorded",
    )  # fmt: skip
