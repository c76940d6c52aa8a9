"""Read the profiler's CSV files row by row, as far as they are whole; broken ones are left to reading as a whole."""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Iterator
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path

from stepscope.model.errors import UnusableInputError
from stepscope.readers.ascend.csvfile import cell_text
from stepscope.readers.ascend.kinds import column_name

_NUMBER = re.compile(r"[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d{1,3})?")
_SHORT_TIME = re.compile(r"(\d{1,15})\.(\d{3})")


class BrokenFileError(UnusableInputError):
    """A file can't be read as it should be."""

    def __init__(self, path: Path, why: str) -> None:
        super().__init__(f"{path.name} {why}", hint="copy the file again")


def rows(path: Path) -> Iterator[list[str]]:
    """The header's names, then the cells of each row.

    Raises:
        BrokenFileError: The file is not whole.
    """
    try:
        with path.open("rb") as file:
            file.seek(-1, 2)  # of an empty file, an error
            if file.read(1) not in b"\r\n":
                raise BrokenFileError(path, "ends in the middle of a row")
        with path.open(encoding="utf-8-sig", newline="") as text:
            reader = csv.reader(text, strict=True)
            header = [column_name(name) for name in next(reader, [])]
            if len({name.lower() for name in header} | {"row"}) != len(header) + 1:
                raise BrokenFileError(path, "has no header, or one with repeated names")
            yield header
            for row in reader:
                if len(row) != len(header) or "\0" in "".join(row):
                    raise BrokenFileError(path, "has broken rows")
                yield row
    except (OSError, ValueError, csv.Error) as error:
        raise BrokenFileError(path, "is no table") from error


def number(cell: str) -> float | None:
    """A cell as a finite number; None where it is none."""
    text = cell_text(cell)
    if text is None or not _NUMBER.fullmatch(text):
        return None
    value = float(text)
    return value if math.isfinite(value) else None


def nanoseconds(cell: str) -> int | None:
    """A time in µs as integer ns, converted digit by digit; None where it is none."""
    if short := _SHORT_TIME.fullmatch(cell):
        return int(short[1] + short[2])
    text = cell_text(cell)
    if text is None or not _NUMBER.fullmatch(text):
        return None
    ns = Decimal(text).scaleb(3).to_integral_value(ROUND_HALF_UP)
    return int(ns) if abs(ns) < 2**63 else None
