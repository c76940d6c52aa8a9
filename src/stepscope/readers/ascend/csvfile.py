"""Load the profiler's CSV files as DuckDB tables, whatever columns they have."""

from __future__ import annotations

import mmap
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from stepscope.language import said
from stepscope.readers.untrusted import quoted_name
from stepscope.store.staging import Staging, first_row

#: What may stand around the text of a cell, and what cells hold that were not collected.
BLANKS: Final = " \t\r\n"
ABSENT: Final = ("", "N/A", "NA", "None", "null", "nan")
#: What a number is multiplied by when it is read, by the unit in its column's name.
FACTORS: Final = {"(us)": 1000, "(ms)": 10**6, "(KB)": 1 << 10, "(MB)": 1 << 20}
_BYTES: Final = {"MB": 1 << 20, "KB": 1 << 10}
#: Columns that one query looks at: DuckDB needs some MB for each expression over a column.
COLUMNS_AT_A_TIME: Final = 64
#: Columns that hold numbers in every version.
_NUMBERS: Final = re.compile(
    r".*\((us|ms|KB|MB)\)|Count|Computing|Communication(\(Not Overlapped.*\))?|Overlapped|Free|Stage|Bubble|Preparing"
)


@dataclass(frozen=True, slots=True)
class CsvTable:
    """A CSV file that has been loaded: every column as text, null where that says that nothing was collected.

    Attributes:
        name: Name of the DuckDB table. It has a column `row`, counted from 0, besides the file's own.
        columns: Names in the file's header, stripped of blanks.
        rows: Number of rows.
        numeric: Columns that were read as numbers.
        lost: Of samples: `rows` of which nothing is kept, and empty `cells` where numbers belong.
    """

    name: str
    columns: tuple[str, ...]
    rows: int
    numeric: set[str] = field(default_factory=set)
    lost: Counter[str] = field(default_factory=Counter)

    def text(self, *spellings: str) -> str:
        """SQL for a cell's text in the first of the columns that the file has; null where not collected."""
        column = self._column(spellings)
        return "NULL::VARCHAR" if column is None else _cell_sql(column)

    def _column(self, spellings: tuple[str, ...]) -> str | None:
        """The first of the names that is a column of the file."""
        return next((spelling for spelling in spellings if spelling in self.columns), None)

    def _asked(self, spellings: tuple[str, ...]) -> str:
        """SQL for the text in a column of numbers, noted in `numeric`; casts ignore blanks around it."""
        column = self._column(spellings)
        if column is None:
            return "NULL::VARCHAR"
        self.numeric.add(column)
        return quoted_name(column)

    def number(self, *spellings: str) -> str:
        """SQL for a cell as a floating-point number; null where it is none, not finite or too large."""
        asked = self._asked(spellings)
        cell = f"try_cast({asked} AS DOUBLE)"
        return f"CASE WHEN abs({cell}) < {largest(asked)} THEN {cell} END"

    def integer(self, *spellings: str) -> str:
        """SQL for a cell as an integer."""
        return f"try_cast({self._asked(spellings)} AS BIGINT)"

    def nanoseconds(self, *spellings: str) -> str:
        """SQL for a time in µs as integer ns, converted digit by digit."""
        return f"try_cast(try_cast({self._asked(spellings)} AS DECIMAL(28, 3)) * 1000 AS BIGINT)"

    def size(self, title: str) -> tuple[str, str]:
        """The name and SQL for integer bytes of the column called `title` and its unit, KB or MB."""
        name, factor = next(
            ((f"{title}({unit})", factor) for unit, factor in _BYTES.items() if f"{title}({unit})" in self.columns),
            (title, 1),
        )
        return name, f"try_cast(round({self.number(name)} * {factor}) AS BIGINT)"

    def has(self, column: str) -> bool:
        """Whether the file has the column."""
        return column in self.columns


def observe_zeros(staging: Staging, path: Path) -> None:
    """Report NUL bytes in a text file, which a crashed machine leaves in place of lost data."""
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        found = content.find(b"\0") >= 0
    staging.observe(
        "input-damaged", "error", int(found), said("{name} has zeros in place of text", name=path.name),
        "what stood there is missing; copy the file again",
    )  # fmt: skip


def observe_cells(staging: Staging, table: CsvTable, path: Path) -> None:
    """Count cells that are no numbers in numeric columns, and what of samples is not kept."""
    columns = sorted(table.numeric)
    bad = sum(_bad_cells(staging, table, several) for several in at_a_time(columns))
    staging.observe(
        "cells-unreadable", "warning", bad, said("cells of {name} are no numbers where numbers belong", name=path.name),
        "its contents are missing",
    )  # fmt: skip
    staging.observe(
        "cells-unreadable", "warning", table.lost["cells"],
        said("cells of {name} are empty where numbers belong", name=path.name), "its contents are missing",
    )  # fmt: skip
    staging.observe(
        "rows-skipped", "warning", table.lost["rows"],
        said("rows of {name} have no time, no number or do not say of what they are", name=path.name),
        "they are missing from every number",
    )  # fmt: skip


def at_a_time(columns: Sequence[str], most: int = COLUMNS_AT_A_TIME) -> Iterator[Sequence[str]]:
    """The columns in turn, so many at a time."""
    for first in range(0, len(columns), most):
        yield columns[first : first + most]


def _bad_cells(staging: Staging, table: CsvTable, columns: Sequence[str]) -> int:
    counts = [f"count(*) FILTER ({_usable(column)}), "
              f"count(CASE WHEN NOT coalesce({_usable(column)}, false) THEN {table.text(column)} END)"
              for column in columns]  # fmt: skip
    found = first_row(staging.connection, f"SELECT {', '.join(counts)} FROM {table.name}")
    # An unknown column without any number is a text column of a newer version; in known ones any text is wrong.
    counted = zip(columns, found[::2], found[1::2], strict=True)
    return sum(wrong for column, right, wrong in counted if right > wrong or _NUMBERS.fullmatch(column))


def _usable(column: str) -> str:
    """SQL for whether a cell is a number that 64 bits can hold, times as ns and sizes as bytes."""
    return f"abs(try_cast({quoted_name(column)} AS DOUBLE)) < {largest(column)}"


def largest(column: str) -> int:
    """Below what a number of a column is, so that it and its difference to another fit 64 bits."""
    return 2**62 // next((factor for unit, factor in FACTORS.items() if unit in column), 1)


def cell_text(cell: str) -> str | None:
    """A cell without the blanks around it; None where nothing was collected."""
    text = cell.strip(BLANKS)
    return None if text in ABSENT else text


def _cell_sql(column: str) -> str:
    """SQL for `cell_text` of a column whose cells are null where nothing else stands there."""
    # To plan one comparison with a list of texts takes DuckDB 3 ms, one match 0.2 ms.
    cell = quoted_name(column)
    trimmed = f"trim({cell}, '{BLANKS}')"
    return (
        f"CASE WHEN NOT regexp_matches({cell}, '^[{BLANKS}]|[{BLANKS}]$') THEN {cell} "
        f"WHEN NOT regexp_full_match({trimmed}, '{'|'.join(ABSENT)}') THEN {trimmed} END"
    )
