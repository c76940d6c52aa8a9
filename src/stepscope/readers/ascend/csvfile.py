"""Load the profiler's CSV files as DuckDB tables, whatever columns they have."""

from __future__ import annotations

import csv
import mmap
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import duckdb
import pyarrow as pa

from stepscope.store.staging import Staging, first_row

#: A cell may hold a call stack.
_CELL_LIMIT: Final = 16 << 20
_BATCH: Final = 50_000
_BLANKS: Final = "E' \\t\\r\\n'"
#: Columns that hold numbers in every version.
_NUMBERS: Final = re.compile(
    r".*\((us|ms|KB|MB)\)|Count|Computing|Communication(\(Not Overlapped.*\))?|Overlapped|Free|Stage|Bubble|Preparing"
)
_ABSENT: Final = "('', 'N/A', 'NA', 'None', 'null', 'nan')"


@dataclass(frozen=True, slots=True)
class CsvTable:
    """A CSV file that has been loaded: every column as text.

    Attributes:
        name: Name of the DuckDB table. It has a column `row`, counted from 0, besides the file's own.
        columns: Names in the file's header, stripped of blanks.
        rows: Number of rows.
        numeric: Columns that were read as numbers.
    """

    name: str
    columns: tuple[str, ...]
    rows: int
    numeric: set[str] = field(default_factory=set)

    def text(self, *spellings: str) -> str:
        """SQL for a cell's text in the first of the columns that the file has; null where not collected."""
        column = self._column(spellings)
        if column is None:
            return "NULL::VARCHAR"
        cell = f"trim({_quoted(column)}, {_BLANKS})"
        return f"CASE WHEN {cell} NOT IN {_ABSENT} THEN {cell} END"

    def _column(self, spellings: tuple[str, ...]) -> str | None:
        """The first of the names that is a column of the file."""
        return next((spelling for spelling in spellings if spelling in self.columns), None)

    def _asked(self, spellings: tuple[str, ...]) -> str:
        """`text` for a column of numbers, noted in `numeric`."""
        self.numeric.update(filter(None, (self._column(spellings),)))
        return self.text(*spellings)

    def number(self, *spellings: str) -> str:
        """SQL for a cell as a floating-point number; null where it is none or not finite."""
        cell = f"try_cast({self._asked(spellings)} AS DOUBLE)"
        return f"CASE WHEN isfinite({cell}) THEN {cell} END"

    def integer(self, *spellings: str) -> str:
        """SQL for a cell as an integer."""
        return f"try_cast({self._asked(spellings)} AS BIGINT)"

    def nanoseconds(self, *spellings: str) -> str:
        """SQL for a time in µs as integer ns, converted digit by digit."""
        return f"try_cast(try_cast({self._asked(spellings)} AS DECIMAL(28, 3)) * 1000 AS BIGINT)"

    def scaled(self, factor: int, *spellings: str) -> str:
        """SQL for a size in units of `factor` bytes as integer bytes."""
        return f"try_cast(round({self.number(*spellings)} * {factor}) AS BIGINT)"

    def has(self, column: str) -> bool:
        """Whether the file has the column."""
        return column in self.columns


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
        staging.observe("file-unreadable", "warning", 1, f"{path.name} can't be read", "its contents are missing")
        return None
    [rows] = first_row(staging.connection, f"SELECT count(*) FROM {name}")
    staging.observe(
        "truncated", "error", int(_ends_early(path)), f"{path.name} ends in the middle of a row",
        "rows are missing, and sums are lower bounds; copy the file again",
    )  # fmt: skip
    staging.observe("file-empty", "info", int(not rows), f"{path.name} has a header and no rows", "it adds nothing")
    observe_zeros(staging, path)
    return CsvTable(name, columns, rows)


def observe_zeros(staging: Staging, path: Path) -> None:
    """Report NUL bytes in a text file, which a crashed machine leaves in place of lost data."""
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        found = content.find(b"\0") >= 0
    staging.observe(
        "input-damaged", "error", int(found), f"{path.name} has zeros in place of text",
        "what stood there is missing; copy the file again",
    )  # fmt: skip


def observe_cells(staging: Staging, table: CsvTable, path: Path) -> None:
    """Count cells that are no numbers in numeric columns."""
    counts = [
        f"count({text}) FILTER (WHERE NOT {usable}), count(*) FILTER (WHERE {usable})"
        for text, usable in ((table.text(column), _usable(table, column)) for column in sorted(table.numeric))
    ]
    found = first_row(staging.connection, f"SELECT {', '.join(counts)} FROM {table.name}") if counts else ()
    # An unknown column without any number is a text column of a newer version; in known ones any text is wrong.
    counted = zip(sorted(table.numeric), found[::2], found[1::2], strict=True)
    bad = sum(wrong for column, wrong, right in counted if right > wrong or _NUMBERS.fullmatch(column))
    staging.observe(
        "cells-unreadable", "warning", bad, f"cells of {path.name} are no numbers where numbers belong",
        "its contents are missing",
    )  # fmt: skip


#: What a number is multiplied by when it is read, by the unit in its column's name.
_FACTORS: Final = {"(us)": 1000, "(KB)": 1 << 10, "(MB)": 1 << 20}


def _usable(table: CsvTable, column: str) -> str:
    """SQL for whether a cell is a number that 64 bits can hold, times as ns and sizes as bytes."""
    most = 2**63 // next((factor for unit, factor in _FACTORS.items() if unit in column), 1)
    return f"coalesce(abs(try_cast({table.text(column)} AS DOUBLE)) < {most}, false)"


def _ends_early(path: Path) -> bool:
    """Whether the last row lacks the line break that the profiler writes after every row."""
    with path.open("rb") as file:
        file.seek(-1, 2)
        return file.read(1) not in b"\r\n"


def _load_fast(staging: Staging, path: Path, name: str) -> tuple[str, ...] | None:
    """Load a file with DuckDB; None if columns have names that no query can hold."""
    connection = staging.connection
    quoted = str(path).replace("'", "''")
    connection.execute(
        f"CREATE TABLE {name} AS SELECT row_number() OVER () - 1 AS row, * FROM read_csv('{quoted}', header = true, "
        "all_varchar = true, auto_detect = true, delim = ',', quote = '\"', escape = '\"', null_padding = true, "
        f"parallel = false, max_line_size = {_CELL_LIMIT}, sample_size = 100)"
    )
    found = [row[0] for row in connection.execute(f"DESCRIBE {name}").fetchall()][1:]
    if any("\0" in column for column in found):
        return None
    stripped = _distinct(found)
    for before, after in zip(found, stripped, strict=True):
        if before != after:
            connection.execute(f"ALTER TABLE {name} RENAME COLUMN {_quoted(before)} TO {_quoted(after)}")
    return stripped


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
                names = ", ".join(f"{_quoted(column)} VARCHAR" for column in columns)
                staging.connection.execute(f"CREATE TABLE {name} (row BIGINT, {names})")
                continue
            odd += len(row) != len(columns)
            rows.append([*row, *[""] * len(columns)][: len(columns)])
            if len(rows) >= _BATCH:
                done, rows = _insert(staging, name, columns, rows, done), []
    if rows:
        _insert(staging, name, columns, rows, done)
    staging.observe("rows-repaired", "warning", odd, f"rows of {path.name} are broken", "their numbers may be missing")
    return columns


def _insert(staging: Staging, name: str, columns: tuple[str, ...], rows: list[list[str]], done: int) -> int:
    cells = zip(*rows, strict=True)
    table = {column: pa.array(values, pa.string()) for column, values in zip(columns, cells, strict=True)}
    staging.insert(name, pa.table({"row": pa.array(range(done, done + len(rows)), pa.int64()), **table}))
    return done + len(rows)


def _distinct(found: list[str]) -> tuple[str, ...]:
    """Column names stripped of blanks; repeated ones (ignoring case, as DuckDB does) get a number."""
    seen: dict[str, int] = {"row": 1}
    names = []
    for column in found:
        name = column.strip().lstrip("\ufeff") or "column"
        seen[name.lower()] = seen.get(name.lower(), 0) + 1
        names.append(name if seen[name.lower()] == 1 else f"{name} ({seen[name.lower()]})")
    return tuple(names)


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
