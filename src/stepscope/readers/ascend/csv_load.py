"""Load a CSV file into the staging area: at once where it is regular, else row by row."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import duckdb
import pyarrow as pa

from stepscope.language import said
from stepscope.readers.ascend.csvfile import ABSENT, CsvTable, cell_text, observe_zeros
from stepscope.readers.ascend.kinds import column_name
from stepscope.readers.untrusted import quoted_name
from stepscope.store.staging import Staging, first_row

#: A cell may hold a call stack.
_CELL_LIMIT: Final = 16 << 20
_BATCH: Final = 50_000
#: Columns that are read: the profiler's widest table has some 60.
MOST_COLUMNS: Final = 512


def load(staging: Staging, path: Path, name: str) -> CsvTable | None:
    """Load a CSV file as table `name`; None if it can't be read.

    Broken rows, a truncated end and files without rows are reported in health.
    """
    try:
        columns = _load_fast(staging, path, name)
    except duckdb.Error:
        columns = None
    if columns is None:
        columns = _load_slowly(staging, path, name)
    if not columns:
        staging.observe(
            "file-unreadable", "warning", 1, said("{name} can't be read", name=path.name), "its contents are missing"
        )
        return None
    [rows] = first_row(staging.connection, f"SELECT count(*) FROM {name}")
    staging.observe(
        "truncated", "error", int(_ends_early(path)), said("{name} ends in the middle of a row", name=path.name),
        "rows are missing, and sums are lower bounds; copy the file again",
    )  # fmt: skip
    staging.observe(
        "file-empty", "info", int(not rows), said("{name} has a header and no rows", name=path.name), "it adds nothing"
    )
    observe_zeros(staging, path)
    staging.observe(
        "columns-left-out", "warning", max(0, len(columns) - MOST_COLUMNS),
        said("{name} has more than {most_columns:,} columns", name=path.name,
             most_columns=MOST_COLUMNS), "the columns after those are not read",
    )  # fmt: skip
    return CsvTable(name, columns[:MOST_COLUMNS], rows)


def load_slices(staging: Staging, paths: Sequence[Path], name: str) -> CsvTable | None:
    """Load the slices of a file as one table `name`, their rows numbered on; None if none can be read."""
    whole: CsvTable | None = None
    for path in paths:
        table = load(staging, path, name if whole is None else f"{name}_slice")
        if whole is None or table is None:
            whole = whole or table
            continue
        known = {column.lower() for column in whole.columns}
        for column in (column for column in table.columns if column.lower() not in known):
            staging.connection.execute(f"ALTER TABLE {name} ADD COLUMN {quoted_name(column)} VARCHAR")
        staging.connection.execute(
            f"INSERT INTO {name} BY NAME SELECT * REPLACE (row + {whole.rows} AS row) FROM {table.name}"
        )
        staging.connection.execute(f"DROP TABLE {table.name}")
        columns = tuple(dict.fromkeys((*whole.columns, *table.columns)))
        whole = CsvTable(name, columns, whole.rows + table.rows)
    return whole


def _ends_early(path: Path) -> bool:
    """Whether the last row lacks the line break that the profiler writes after every row."""
    with path.open("rb") as file:
        file.seek(-1, 2)
        return file.read(1) not in b"\r\n"


def _load_fast(staging: Staging, path: Path, name: str) -> tuple[str, ...] | None:
    """Load a file with DuckDB; None if columns have names that no query can hold."""
    quoted = str(path).replace("'", "''")
    staging.connection.execute(
        f"CREATE TABLE {name} AS SELECT row_number() OVER () - 1 AS row, * FROM read_csv('{quoted}', header = true, "
        "all_varchar = true, auto_detect = true, delim = ',', quote = '\"', escape = '\"', null_padding = true, "
        f"parallel = false, max_line_size = {_CELL_LIMIT}, sample_size = 100, nullstr = {list(ABSENT)})"
    )
    found = [row[0] for row in staging.connection.execute(f"DESCRIBE {name}").fetchall()[1:]]
    if any("\0" in column for column in found):
        return None
    columns = _distinct(found)
    for before, after in zip(found, columns, strict=True):
        if before != after:
            renaming = f"RENAME {quoted_name(before)} TO {quoted_name(after)}"
            staging.connection.execute(f"ALTER TABLE {name} {renaming}")
    return columns


def _load_slowly(staging: Staging, path: Path, name: str) -> tuple[str, ...]:
    """Load a file with the standard library, which tolerates more defects."""
    csv.field_size_limit(_CELL_LIMIT)
    staging.connection.execute(f"DROP TABLE IF EXISTS {name}")
    columns: tuple[str, ...] = ()
    rows: list[list[str]] = []
    done = odd = 0
    with path.open(encoding="utf-8", errors="replace", newline="") as file:
        reader = csv.reader(line.replace("\0", "") for line in file)
        while True:
            try:
                row = next(reader)
            except StopIteration:
                break
            except csv.Error:
                odd += 1
                continue
            if not columns:
                columns = _distinct(row)
                names = ", ".join(f"{quoted_name(column)} VARCHAR" for column in columns)
                staging.connection.execute(f"CREATE TABLE {name} (row BIGINT, {names})")
                continue
            odd += len(row) != len(columns)
            rows.append([*row, *[""] * len(columns)][: len(columns)])
            if len(rows) >= _BATCH:
                done, rows = _insert(staging, name, columns, rows, done), []
    if rows:
        _insert(staging, name, columns, rows, done)
    staging.observe(
        "rows-repaired",
        "warning",
        odd,
        said("rows of {name} are broken", name=path.name),
        "their numbers may be missing",
    )
    return columns


def _insert(staging: Staging, name: str, columns: tuple[str, ...], rows: list[list[str]], done: int) -> int:
    cells = zip(*rows, strict=True)
    table = {
        column: pa.array(map(cell_text, values), pa.string()) for column, values in zip(columns, cells, strict=True)
    }
    staging.insert(name, pa.table({"row": pa.array(range(done, done + len(rows)), pa.int64()), **table}))
    return done + len(rows)


def _distinct(found: list[str]) -> tuple[str, ...]:
    """Column names without blanks around them and before units.

    Repeated ones (ignoring case, as DuckDB does) get a number.
    """
    seen: dict[str, int] = {"row": 1}
    names = []
    for column in found:
        name = column_name(column.strip().lstrip("\ufeff")) or "column"
        seen[name.lower()] = seen.get(name.lower(), 0) + 1
        names.append(name if seen[name.lower()] == 1 else f"{name} ({seen[name.lower()]})")
    return tuple(names)
