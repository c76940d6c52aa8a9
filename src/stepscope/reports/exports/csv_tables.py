"""The tables of a report as CSV."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from stepscope.model.table import Table
from stepscope.reports.contents import Contents


def write_table(table: Table, out: IO[str]) -> None:
    """A table with a line of names; null is empty, a list is its values with spaces between them."""
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(table.schema.names)
    writer.writerows(_rows(table))


def write_tables(report: Contents, folder: Path) -> None:
    """TABLE.csv for each table that was computed, into an existing folder."""
    for name, table in report.tables.items():
        if len(table):
            with (folder / f"{name}.csv").open("w", encoding="utf-8", newline="") as out:
                write_table(table, out)


def _rows(table: Table) -> Iterator[list[Any]]:
    for batch in table.arrow.to_batches():
        for row in batch.to_pylist():
            yield [" ".join(map(str, value)) if isinstance(value, list) else value for value in row.values()]
