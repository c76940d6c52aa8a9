"""Ways to damage what files say, not their bytes: cells of wrong types, views for tables, absent or many columns."""

from __future__ import annotations

import csv
import io
import random
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

#: What stands in a cell of a database in place of its value.
VALUES: Final[tuple[Any, ...]] = (
    None, "x", "", "12", b"\xff\x00", 1e308, float("inf"), -float("inf"), 0, -1, 2**31, 2**32 - 1, 2**63 - 1, -(2**63),
    9 * 10**18, 1.5, 2.0**64,
)  # fmt: skip
#: What stands in a cell of a table in text.
_CELLS: Final = (
    "", "x", "N/A", "nan", "inf", "-inf", "1e999", "-1", "0", "4294967295", "9223372036854775807",
    "99999999999999999999", "1e300", '"', "\t", "1,5",
)  # fmt: skip
#: Columns of a table that is wide, and cells that are changed at once at most.
_WIDE: Final = 600
_MOST: Final = 6

#: What is done to a database; `table` is the one that was chosen.
DatabaseMutation = Callable[[sqlite3.Connection, str, random.Random], None]
#: What is done to the rows of a table in text, the header among them.
TableMutation = Callable[[list[list[str]], random.Random], None]


def _columns(connection: sqlite3.Connection, table: str) -> list[str]:
    return [row[1] for row in connection.execute(f'PRAGMA table_info("{table}")')]


def set_cells(connection: sqlite3.Connection, table: str, chance: random.Random) -> None:
    """Some cells of a column are something else."""
    columns = _columns(connection, table)
    rows = [row for (row,) in connection.execute(f'SELECT rowid FROM "{table}"')]
    column = chance.choice(columns)
    for row in chance.sample(rows, min(len(rows), chance.randint(1, _MOST))):
        connection.execute(
            f'UPDATE OR IGNORE "{table}" SET "{column}" = ? WHERE rowid = ?', [chance.choice(VALUES), row]
        )


def set_column(connection: sqlite3.Connection, table: str, chance: random.Random) -> None:
    """All cells of a column are one other value."""
    column = chance.choice(_columns(connection, table))
    connection.execute(f'UPDATE OR IGNORE "{table}" SET "{column}" = ?', [chance.choice(VALUES)])


def shift_cells(connection: sqlite3.Connection, table: str, chance: random.Random) -> None:
    """Numbers of a column are off by as much as 64 bits hold, or change their sign."""
    column = chance.choice(_columns(connection, table))
    how = chance.choice(["+ 9000000000000000000", "- 9000000000000000000", "* -1", "* 1000", "/ 1000"])
    connection.execute(f'UPDATE OR IGNORE "{table}" SET "{column}" = "{column}" {how}')


def make_a_view(connection: sqlite3.Connection, table: str, chance: random.Random) -> None:
    """A view stands in the place of the table."""
    del chance
    connection.execute(f'ALTER TABLE "{table}" RENAME TO "moved"')
    connection.execute(f'CREATE VIEW "{table}" AS SELECT * FROM "moved"')


def lose_a_column(connection: sqlite3.Connection, table: str, chance: random.Random) -> None:
    """The table lacks a column."""
    columns = _columns(connection, table)
    lost = chance.choice(columns)
    kept = ", ".join(f'"{column}"' for column in columns if column != lost) or "1"
    connection.execute(f'CREATE TABLE "kept" AS SELECT {kept} FROM "{table}"')
    connection.execute(f'DROP TABLE "{table}"')
    connection.execute(f'ALTER TABLE "kept" RENAME TO "{table}"')


def lose_a_table(connection: sqlite3.Connection, table: str, chance: random.Random) -> None:
    """The table is not there."""
    del chance
    connection.execute(f'DROP TABLE "{table}"')


def add_columns(connection: sqlite3.Connection, table: str, chance: random.Random) -> None:
    """The table has many more columns."""
    columns = _columns(connection, table)
    more = ", ".join(f'{number} AS "more_{number}"' for number in range(chance.randint(1, _WIDE)))
    connection.execute(
        f'CREATE TABLE "wide" AS SELECT {", ".join(f"{chr(34)}{c}{chr(34)}" for c in columns)}, {more} FROM "{table}"'
    )
    connection.execute(f'DROP TABLE "{table}"')
    connection.execute(f'ALTER TABLE "wide" RENAME TO "{table}"')


def repeat_rows(connection: sqlite3.Connection, table: str, chance: random.Random) -> None:
    """Rows are there twice, with keys that repeat."""
    kept = ", ".join(f'"{column}"' for column in _columns(connection, table))
    connection.execute(f'CREATE TABLE "twice" AS SELECT {kept} FROM "{table}"')
    connection.execute(f'INSERT INTO "twice" SELECT {kept} FROM "{table}" LIMIT {chance.randint(1, 100)}')
    connection.execute(f'DROP TABLE "{table}"')
    connection.execute(f'ALTER TABLE "twice" RENAME TO "{table}"')


DATABASE_MUTATIONS: Final[tuple[DatabaseMutation, ...]] = (
    set_cells, set_cells, set_cells, set_column, shift_cells, make_a_view, lose_a_column, lose_a_table, add_columns,
    repeat_rows,
)  # fmt: skip


def set_a_cell(rows: list[list[str]], chance: random.Random) -> None:
    """A cell is something else."""
    row = chance.choice(rows[1:])
    row[chance.randrange(len(row))] = chance.choice(_CELLS)


def set_cells_of_a_column(rows: list[list[str]], chance: random.Random) -> None:
    """All cells of a column are one other value."""
    column, value = chance.randrange(len(rows[0])), chance.choice(_CELLS)
    for row in rows[1:]:
        if column < len(row):
            row[column] = value


def lose_a_cell(rows: list[list[str]], chance: random.Random) -> None:
    """A row is shorter than the header."""
    row = chance.choice(rows)
    del row[chance.randrange(len(row))]


def lose_cells_of_a_column(rows: list[list[str]], chance: random.Random) -> None:
    """The table lacks a column."""
    column = chance.randrange(len(rows[0]))
    for row in rows:
        del row[column : column + 1]


def rename_a_column(rows: list[list[str]], chance: random.Random) -> None:
    """A column has another name: that of another, none, or a long one."""
    rows[0][chance.randrange(len(rows[0]))] = chance.choice([chance.choice(rows[0]), "", "x" * 70_000, "row", 'a"b'])


def widen(rows: list[list[str]], chance: random.Random) -> None:
    """The table has many more columns."""
    number = chance.randint(1, _WIDE)
    rows[0].extend(f"more_{index}(us)" for index in range(number))
    for row in rows[1:]:
        row.extend(chance.choice(["1.5", "x", ""]) for _ in range(number))


def shuffle_columns(rows: list[list[str]], chance: random.Random) -> None:
    """The columns are in another order."""
    order = chance.sample(range(len(rows[0])), len(rows[0]))
    for row in rows:
        row[:] = [row[column] for column in order if column < len(row)]


TABLE_MUTATIONS: Final[tuple[TableMutation, ...]] = (
    set_a_cell, set_a_cell, set_a_cell, set_cells_of_a_column, lose_a_cell, lose_cells_of_a_column, rename_a_column,
    widen, shuffle_columns,
)  # fmt: skip

#: After these, rows are missing that nothing tells of: the recording is as good as one that never had them.
REMOVING: Final = ("lose_a_table", "lose_a_column", "lose_cells_of_a_column", "rename_a_column")


@contextmanager
def _opened(data: bytearray) -> Iterator[sqlite3.Connection]:
    """The database of these bytes, which are its new ones afterwards."""
    with TemporaryDirectory(prefix="damage-") as folder:
        path = Path(folder) / "database"
        path.write_bytes(data)
        with closing(sqlite3.connect(path)) as connection:
            connection.execute("PRAGMA journal_mode = OFF")
            yield connection
            connection.commit()
        data[:] = path.read_bytes()


def mutate_database(data: bytearray, chance: random.Random) -> str | None:
    """Damage the structure of a database; what was done to which table, None if its bytes are damaged already."""
    mutation = chance.choice(DATABASE_MUTATIONS)
    try:
        with _opened(data) as connection:
            tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
            table = chance.choice(sorted(tables))
            mutation(connection, table, chance)
    except (sqlite3.Error, ValueError, IndexError):
        return None
    return f"{mutation.__name__} of {table}"


def mutate_table(data: bytearray, chance: random.Random) -> str | None:
    """Damage the structure of a CSV file; what was done, None if there is no row, or its bytes are damaged already."""
    mutation = chance.choice(TABLE_MUTATIONS)
    try:
        rows = [row for row in csv.reader(io.StringIO(data.decode(), newline="")) if row]
        mutation(rows, chance)
    except (ValueError, IndexError, csv.Error):
        return None
    out = io.StringIO(newline="")
    csv.writer(out, lineterminator="\n").writerows(rows)
    data[:] = out.getvalue().encode()
    return mutation.__name__
