"""The interface to an export's tables, whatever their format."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

import pyarrow as pa

from stepscope.readers.sqlite.columns import Columns
from stepscope.readers.sqlite.losses import Losses


class Tables(Protocol):
    """An open export.

    Attributes:
        damage: What could not be read, one sentence fragment per table; empty if nothing is wrong.
        losses: What was left out though nothing is damaged.
    """

    damage: list[str]
    losses: Losses

    def names(self) -> frozenset[str]:
        """Names of the tables."""
        ...

    def rows(self, table: str) -> int:
        """Estimated number of rows of a table; 0 if there is no such table."""
        ...

    def sample(self, table: str, columns: Columns) -> Iterator[pa.Table]:
        """Rows sampled over a table, or all of it if that is cheap; nothing if there is no such table."""
        ...

    def scan(self, table: str, columns: Columns) -> Iterator[pa.Table]:
        """The rows of a table in chunks, in their order; nothing if there is no such table."""
        ...

    def close(self) -> None:
        """Release the files."""
        ...


def records(tables: Tables, table: str, columns: Columns) -> list[dict[str, Any]]:
    """All rows of a small table."""
    return [row for chunk in tables.scan(table, columns) for row in chunk.to_pylist()]
