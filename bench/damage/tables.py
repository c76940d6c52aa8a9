"""Ways to damage what Parquet files say: columns of other types, of nothing, absent, renamed or shifted."""

from __future__ import annotations

import io
import random
from collections.abc import Callable
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from bench.damage.structure import VALUES

_WIDE: Final = 600
ParquetMutation = Callable[[pa.Table, str, random.Random], pa.Table]


def _with(table: pa.Table, column: str, values: list[Any]) -> pa.Table:
    return table.set_column(table.column_names.index(column), column, pa.array(values))


def set_some_rows(table: pa.Table, column: str, chance: random.Random) -> pa.Table:
    """Some rows of a column have no value, or all of it is of another type with one value that is something else."""
    values = table[column].to_pylist()
    if chance.random() < 0.5:
        values = [None if chance.random() < 0.3 else value for value in values]
    else:
        values = [str(value) for value in values]
        values[chance.randrange(len(values))] = str(chance.choice(VALUES))
    return _with(table, column, values)


def set_the_column(table: pa.Table, column: str, chance: random.Random) -> pa.Table:
    """All rows of a column have one other value."""
    return _with(table, column, [chance.choice(VALUES)] * len(table))


def shift_the_column(table: pa.Table, column: str, chance: random.Random) -> pa.Table:
    """The numbers of a column are others, as decimal fractions."""
    by = chance.choice([9e18, -9e18, 1e300, float("inf"), float("nan"), 0.5])
    return _with(table, column, [value + by if type(value) is int else value for value in table[column].to_pylist()])


def lose_the_column(table: pa.Table, column: str, chance: random.Random) -> pa.Table:
    """The table lacks a column."""
    del chance
    return table.drop_columns([column])


def rename_the_column(table: pa.Table, column: str, chance: random.Random) -> pa.Table:
    """A column has another name: that of another one, none, or a long one."""
    new = chance.choice([chance.choice(table.column_names), "", "x" * 10_000])
    return table.rename_columns([new if name == column else name for name in table.column_names])


def widen_the_table(table: pa.Table, column: str, chance: random.Random) -> pa.Table:
    """The table has many more columns."""
    for number in range(chance.randint(1, _WIDE)):
        table = table.append_column(f"more_{number}", table[column])
    return table


PARQUET_MUTATIONS: Final[tuple[ParquetMutation, ...]] = (
    set_some_rows, set_some_rows, set_the_column, shift_the_column, lose_the_column, rename_the_column, widen_the_table,
)  # fmt: skip
REMOVING: Final = ("lose_the_column", "rename_the_column")


def mutate_parquet(data: bytearray, chance: random.Random) -> str | None:
    """Damage the columns of a Parquet file; what was done to which, None if its bytes are damaged already."""
    mutation = chance.choice(PARQUET_MUTATIONS)
    out = io.BytesIO()
    try:
        table = pq.read_table(io.BytesIO(data))
        column = chance.choice(table.column_names)
        pq.write_table(mutation(table, column, chance), out)
    except (pa.ArrowException, OSError, ValueError, IndexError, KeyError, OverflowError, TypeError):
        return None
    data[:] = out.getvalue()
    return f"{mutation.__name__} of {column[:40]}"
