"""The result of an analysis: a declared schema and its Arrow columns."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from stepscope.language import said
from stepscope.model.errors import UserError
from stepscope.model.schema import TableSchema, Type
from stepscope.model.showing import Shown

if TYPE_CHECKING:
    import pandas
    import polars

_ARROW: dict[Type, Any] = {
    "int64": pa.int64(),
    "int32": pa.int32(),
    "float64": pa.float64(),
    "string": pa.string(),
    "bool": pa.bool_(),
    "int32[]": pa.list_(pa.int32()),
    "int64[]": pa.list_(pa.int64()),
    "string[]": pa.list_(pa.string()),
}


def arrow_schema(schema: TableSchema) -> pa.Schema:
    """The Arrow schema of a declared table."""
    return pa.schema([pa.field(c.name, _ARROW[c.type], c.nullable) for c in schema.columns])


@dataclass(frozen=True, slots=True)
class Table(Shown):
    """An Arrow table that matches its schema: columns, types, and no nulls where none are allowed.

    Build one with `Table.of(schema, columns)`, `Table.from_rows` or `Table.from_arrow`.
    """

    schema: TableSchema
    arrow: pa.Table

    @classmethod
    def of(cls, schema: TableSchema, columns: Mapping[str, Any]) -> Table:
        """Make a table from one array-like per column.

        Raises:
            ValueError: A column is missing, unknown, of another length or null where it may not be.
        """
        if set(columns) != set(schema.names):
            raise ValueError(f"{schema.name}: columns {sorted(columns)} are not {sorted(schema.names)}")
        arrays = [pa.array(columns[c.name], type=_ARROW[c.type], from_pandas=True) for c in schema.columns]
        return cls.from_arrow(schema, pa.Table.from_arrays(arrays, names=list(schema.names)))

    @classmethod
    def from_rows(cls, schema: TableSchema, rows: Iterable[Sequence[Any]]) -> Table:
        """Make a table from rows in the order of the schema's columns."""
        listed = list(rows)
        width = len(schema.columns)
        if any(len(row) != width for row in listed):
            raise ValueError(f"{schema.name}: every row needs {width} values")
        return cls.of(schema, {name: [row[i] for row in listed] for i, name in enumerate(schema.names)})

    @classmethod
    def from_arrow(cls, schema: TableSchema, arrow: pa.Table) -> Table:
        """Adopt an Arrow table, casting it to the declared types."""
        table = arrow.select(list(schema.names)).cast(arrow_schema(schema))
        for column in schema.columns:
            if not column.nullable and table[column.name].null_count:
                raise ValueError(f"{schema.name}.{column.name} may not be null")
        return cls(schema, table)

    @classmethod
    def empty(cls, schema: TableSchema) -> Table:
        """A table without rows."""
        return cls(schema, arrow_schema(schema).empty_table())

    def __len__(self) -> int:
        return int(self.arrow.num_rows)

    def rows(self) -> list[tuple[Any, ...]]:
        """All rows as tuples, in the order of the schema's columns."""
        columns = [self.arrow[name].to_pylist() for name in self.schema.names]
        return list(zip(*columns, strict=True))

    def records(self) -> list[dict[str, Any]]:
        """All rows as dictionaries."""
        records: list[dict[str, Any]] = self.arrow.to_pylist()
        return records

    def column(self, name: str) -> list[Any]:
        """One column as a Python list."""
        values: list[Any] = self.arrow[name].to_pylist()
        return values

    def head(self, n: int) -> Table:
        """The first `n` rows."""
        return Table(self.schema, self.arrow.slice(0, n))

    def json_rows(self) -> list[list[Any]]:
        """All rows as JSON values: infinity and NaN, which JSON lacks, are null."""
        columns = [self.arrow[name] for name in self.schema.names]
        lists = [_finite(one.to_pylist()) if pa.types.is_floating(one.type) else one.to_pylist() for one in columns]
        return list(map(list, zip(*lists, strict=True)))

    def to_json(self) -> dict[str, Any]:
        """Description, columns and rows as JSON values."""
        return {
            "description": self.schema.description,
            "columns": self.schema.to_json(),
            "rows": self.json_rows(),
        }

    def to_arrow(self) -> pa.Table:
        """The table as `pyarrow.Table`."""
        return self.arrow

    def to_pandas(self) -> pandas.DataFrame:
        """The table as a pandas data frame.

        Raises:
            UserError: pandas is not installed.
        """
        _need("pandas")
        return self.arrow.to_pandas()

    def to_polars(self) -> polars.DataFrame:
        """The table as a Polars data frame.

        Raises:
            UserError: Polars is not installed.
        """
        _need("polars")
        import polars

        frame = polars.from_arrow(self.arrow)
        assert isinstance(frame, polars.DataFrame)
        return frame

    def __repr__(self) -> str:
        return f"Table({self.schema.name!r}, {len(self)} rows: {', '.join(self.schema.names)})"


def _finite(values: list[float | None]) -> list[float | None]:
    return [None if value is None or not math.isfinite(value) else value for value in values]


def _need(library: str) -> None:
    """Raise if an optional data frame library is not installed."""
    from importlib.util import find_spec

    if find_spec(library) is None:
        raise UserError(
            said("{library} is not installed", library=library),
            hint="install it with `pip install 'stepscope[frames]'`",
        )
