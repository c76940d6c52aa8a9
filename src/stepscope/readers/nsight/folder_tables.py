"""An export in a folder with one Parquet or Arrow file per table."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from stepscope.language import said
from stepscope.readers.sqlite.columns import CHUNK_ROWS, Columns, arrow_column, as_text
from stepscope.readers.sqlite.losses import Losses

_SUFFIXES: Final = (".parquet", ".arrow")


def table_files(folder: Path) -> dict[str, Path]:
    """The files of a folder that may hold tables, by table."""
    try:
        return {path.stem: path for path in sorted(folder.iterdir()) if path.suffix in _SUFFIXES and path.is_file()}
    except OSError:
        return {}


class FolderTables:
    """The tables of an export folder.

    Attributes:
        damage: What could not be read.
        losses: What was left out though nothing is damaged.
    """

    def __init__(self, folder: Path) -> None:
        self.damage: list[str] = []
        self.losses = Losses()
        self._files = table_files(folder)

    def names(self) -> frozenset[str]:
        """Names of the tables."""
        return frozenset(self._files)

    def rows(self, table: str) -> int:
        """The size of the file, as an estimate of its number of rows."""
        path = self._files.get(table)
        return path.stat().st_size if path is not None else 0

    def sample(self, table: str, columns: Columns) -> Iterator[pa.Table]:
        """All rows of a table: reading a few columns is cheap."""
        return self.scan(table, columns)

    def scan(self, table: str, columns: Columns) -> Iterator[pa.Table]:
        """The rows of a table in chunks, as far as the file can be read."""
        path = self._files.get(table)
        if path is None:
            return
        self.losses.restart(table)
        types = columns.types()
        gathered: list[pa.Table] = []
        size = 0
        try:
            for batch in _parquet(path, types) if path.suffix == ".parquet" else _arrow(path):
                arrays = [self._column(table, batch, name, kind) for name, kind in types.items()]
                converted = self.losses.finite(table, pa.record_batch(arrays, pa.schema(types)))
                gathered.append(pa.Table.from_batches([converted]))
                size += batch.num_rows
                if size >= CHUNK_ROWS:
                    yield pa.concat_tables(gathered)
                    gathered, size = [], 0
        except (pa.ArrowException, OSError, ValueError) as error:
            words = str(error).splitlines() or [type(error).__name__]
            self.damage.append(f"table {table} ({words[0][:200]})")
        if size:
            yield pa.concat_tables(gathered)

    def _column(self, table: str, batch: pa.RecordBatch, name: str, kind: pa.DataType) -> Any:
        """A column converted to `kind`; nulls where it is missing or can't be converted.

        Raises:
            ArrowInvalid: Its layout is broken.
        """
        found = batch.schema.get_all_field_indices(name)
        if not found:
            return pa.nulls(batch.num_rows, kind)
        if len(found) > 1:
            self._note(said("table {table} (it has several columns {name}, the first is read)", table=table, name=name))
        values = batch.column(found[0])
        if pa.types.is_dictionary(values.type):
            values = values.dictionary_decode()
        if _is_text(values.type):
            values = values.cast(pa.binary()) if pa.types.is_binary(kind) else self._text(table, name, values)
        values.validate(full=True)
        try:
            # Identities are unsigned here and signed in SQLite, with the same 64 bits.
            return values.cast(kind, safe=not pa.types.is_integer(values.type))
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            stored = values.to_pylist()
            read = arrow_column([one.encode() if isinstance(one, str) else one for one in stored], kind)
            self.losses.compare(table, name, stored, read)
            return read

    def _text(self, table: str, name: str, values: Any) -> Any:
        """Text as it is, and bytes as text; what is no UTF-8 in them is replaced and noted.

        Raises:
            ArrowInvalid: Its layout is broken.
        """
        try:
            values.validate(full=True)
            text = values.cast(pa.string())
            text.validate(full=True)
            return text
        except pa.ArrowInvalid:
            raw = values.cast(pa.binary())
            raw.validate(full=True)
            self._note(said("table {table} (text of {name} that is no UTF-8)", table=table, name=name))
            return as_text(raw)

    def _note(self, damage: str) -> None:
        """Note damage that each chunk of a table may have once."""
        if damage not in self.damage:
            self.damage.append(damage)

    def close(self) -> None:
        """Nothing to do: files are open only while they are read."""


def _parquet(path: Path, types: dict[str, pa.DataType]) -> Iterator[pa.RecordBatch]:
    import pyarrow.parquet as pq

    with pq.ParquetFile(path) as file:
        present = [name for name in types if name in file.schema_arrow.names]
        yield from file.iter_batches(CHUNK_ROWS, columns=present)


def _arrow(path: Path) -> Iterator[pa.RecordBatch]:
    """Batches of a file in Arrow's file format or in its stream format, of at most `CHUNK_ROWS` rows."""
    with pa.OSFile(str(path)) as source:
        try:
            file = pa.ipc.open_file(source)
        except pa.ArrowInvalid:
            source.seek(0)
            with pa.ipc.open_stream(source) as stream:
                for batch in stream:
                    yield from _slices(batch)
            return
        for number in range(file.num_record_batches):
            yield from _slices(file.get_batch(number))


def _slices(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    for low in range(0, batch.num_rows, CHUNK_ROWS):
        yield batch.slice(low, CHUNK_ROWS)


def _is_text(kind: pa.DataType) -> bool:
    """Whether it is text, or bytes, which may stand for text."""
    return any(
        holds(kind)
        for holds in (
            pa.types.is_string,
            pa.types.is_large_string,
            pa.types.is_binary,
            pa.types.is_large_binary,
            pa.types.is_fixed_size_binary,
        )
    )
