"""Write the result of a query."""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final

from stepscope.language import said

if TYPE_CHECKING:
    import pyarrow as pa

    from stepscope.cli.answer import Answer


#: Rows of a result that a person looks at; files have all.
_MOST_SHOWN: Final = 1000


def write_table(batches: Answer, out: IO[str]) -> None:
    """Aligned columns, the first thousand rows."""
    from stepscope.model.amounts import plural
    from stepscope.reports.text import cut, visible

    names = [visible(name) for name in batches.schema.names]
    rows: list[list[str]] = []
    total = 0
    for batch in batches:
        total += batch.num_rows
        for row in _rows(batch.slice(0, max(0, _MOST_SHOWN - len(rows)))):
            rows.append([cut(visible("" if value is None else str(value)), 120) for value in row])
    head, *lines = aligned([names, *rows], [_is_number(field) for field in batches.schema])
    out.write(f"{head}\n{'  '.join('-' * width for width in widths_of([names, *rows]))}\n")
    out.writelines(f"{line}\n" for line in lines)
    hidden = (
        said(", {total:,} of them not shown: use --format csv", total=total - len(rows)) if total > len(rows) else ""
    )
    out.write(f"({plural(total, 'row')}{hidden})\n")


def widths_of(rows: Sequence[Sequence[str]]) -> list[int]:
    """The cells that each column of a table takes on a terminal."""
    from rich.cells import cell_len

    return [max(map(cell_len, column)) for column in zip(*rows, strict=True)]


def aligned(rows: Sequence[Sequence[str]], right: Sequence[bool], least: int = 0) -> Iterator[str]:
    """The lines of a table: columns that are `right` end together, and take `least` cells or more."""
    from rich.cells import cell_len, set_cell_size

    widths = [max(width, least) if number else width for width, number in zip(widths_of(rows), right, strict=True)]
    for row in rows:
        cells = (
            " " * (width - cell_len(cell)) + cell if number else set_cell_size(cell, width)
            for cell, width, number in zip(row, widths, right, strict=True)
        )
        yield "  ".join(cells).rstrip()


def write_csv(batches: Answer, out: IO[str]) -> None:
    """Comma-separated, with a line of names; null is empty. On a terminal, what does not show is escaped."""
    from stepscope.reports.text import visible

    writer = csv.writer(out, lineterminator="\n")
    clean: Callable[[Any], Any] = (lambda v: visible(v) if isinstance(v, str) else v) if out.isatty() else (lambda v: v)
    writer.writerow([clean(name) for name in batches.schema.names])
    for batch in batches:
        writer.writerows([clean(value) for value in row] for row in _rows(batch))


def write_json(batches: Answer, out: IO[str]) -> None:
    """A list of objects, one per line."""
    names = batches.schema.names
    first = True
    out.write("[")
    for batch in batches:
        for row in _rows(batch):
            values = (None if value != value else value for value in row)  # NaN is no JSON
            out.write(("\n" if first else ",\n") + json.dumps(dict(zip(names, values, strict=True)), default=str))
            first = False
    out.write("\n]\n")


def write_parquet(batches: Answer, target: Path) -> None:
    """A Parquet file."""
    import pyarrow.parquet as pq

    with pq.ParquetWriter(target, batches.schema, compression="zstd") as writer:
        for batch in batches:
            writer.write_batch(batch)


@contextmanager
def binary_stdout() -> Iterator[Path]:
    """A file whose content goes to standard output if the block succeeds; Parquet is written with its end known."""
    import shutil

    from stepscope.model.process.scratch import remove_scratch, scratch_folder

    folder = scratch_folder()
    try:
        yield folder / "result"
        with (folder / "result").open("rb") as opened:
            shutil.copyfileobj(opened, sys.stdout.buffer)
        sys.stdout.buffer.flush()
    finally:
        remove_scratch(folder)


WRITERS: Final = {"table": write_table, "csv": write_csv, "json": write_json}


def _rows(batch: pa.RecordBatch) -> Iterator[tuple[Any, ...]]:
    return zip(*(column.to_pylist() for column in batch.columns), strict=True)


def _is_number(field: pa.Field) -> bool:
    import pyarrow.types as types

    return bool(types.is_integer(field.type) or types.is_floating(field.type) or types.is_decimal(field.type))
