"""Durations of kernels by their operands, from `kernel_details.csv` or `op_summary_*.csv`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import islice
from pathlib import Path

from stepscope.model.sums.kernels import KernelKey, RunDurations
from stepscope.readers.ascend.csvfile import cell_text
from stepscope.readers.ascend.summary.plain_csv import BrokenFileError, nanoseconds, rows

#: Spellings of columns in the several versions.
_START = ("Start Time(us)", "Start Time", "Task Start Time(us)")
_DURATION = ("Duration(us)", "Duration", "Task Duration(us)")
_OPERANDS = (("Input Shapes",), ("Input Data Types",), ("Output Shapes",))


def kernels_in(paths: Sequence[Path], device: Callable[[], int | None]) -> tuple[dict[KernelKey, RunDurations], bool]:
    """Durations of the kernels whose operands are recorded, and whether their steps are not.

    Args:
        paths: The slices of the table.
        device: Tells the rank's device, where a table does not.

    Raises:
        BrokenFileError: A file is not whole.
    """
    found: dict[KernelKey, RunDurations] = {}
    stepless = False
    for path in paths:
        table = rows(path)
        header = next(table)
        start, duration = _place(header, _START), _place(header, _DURATION)
        operands = [_place(header, names) for names in _OPERANDS]
        if start is None or duration is None:
            raise BrokenFileError(path, "lacks columns")
        if None in operands:
            continue
        name, where = _place(header, ("Name", "Op Name")), _place(header, ("Device_id", "Device ID"))
        step = _place(header, ("Step Id", "Step ID"))
        stepless |= step is None
        known: dict[tuple[str | None, ...], KernelKey | None] = {}
        own = None if where is not None else device()
        columns = [name, *operands, where, step]
        for row in table:
            cells = tuple(None if column is None else row[column] for column in columns)
            if cells not in known:
                known[cells] = _key(cells, own)
            key = known[cells]
            if nanoseconds(row[start]) is None:
                raise BrokenFileError(path, "has rows without a start time")
            ns = nanoseconds(row[duration])
            if key is not None and ns is not None:
                found.setdefault(key, RunDurations()).add(ns)
    return found, stepless


def _place(header: Sequence[str], spellings: Sequence[str]) -> int | None:
    return next((header.index(name) for name in spellings if name in header), None)


def _key(cells: tuple[str | None, ...], device: int | None) -> KernelKey | None:
    """The key of a row; None if an operand is not recorded."""
    name, *operands, where, step = (None if cell is None else cell_text(cell) for cell in cells)
    inputs, dtypes, outputs = islice(operands, 3)
    if inputs is None or dtypes is None or outputs is None:
        return None
    return KernelKey(name or "", inputs, dtypes, outputs, _integer(where, device), _integer(step, None))


def _integer(text: str | None, otherwise: int | None) -> int | None:
    return int(text) if text is not None and text.isascii() and text.isdigit() and len(text) < 10 else otherwise
