"""Tables that grow rank by rank: in memory as long as they are small, then in files that are mapped."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Final

import pyarrow as pa

from stepscope.analyses.registry import Analysis
from stepscope.model.process.scratch import scratch_folder
from stepscope.model.sizes import SIZES
from stepscope.model.table import Table, arrow_schema

#: Many small tables take far more memory than one of all their rows.
_PARTS: Final = 64


class TableParts:
    """The tables of a report while its ranks are analysed.

    Files are removed at the end of the process; tables over them need no memory of their own.
    """

    def __init__(self, wanted: Sequence[Analysis]) -> None:
        self._wanted = list(wanted)
        self._parts: dict[str, list[pa.Table]] = {analysis.name: [] for analysis in wanted}
        self._bytes = 0
        self._folder: Path | None = None
        self._writers: dict[str, pa.RecordBatchFileWriter] = {}

    def add(self, tables: dict[str, pa.Table]) -> None:
        """Append the tables of a rank."""
        for name, table in tables.items():
            self._parts[name].append(table)
            self._bytes += table.nbytes
            if len(self._parts[name]) == _PARTS:
                self._parts[name] = [pa.concat_tables(self._parts[name]).combine_chunks()]
        if self._bytes > SIZES.kept_tables:
            self._spill()

    def tables(self) -> dict[str, Table]:
        """The whole tables, in the order of the analyses."""
        if self._folder is not None:
            self._spill()
        for writer in self._writers.values():
            writer.close()
        return {analysis.name: self._whole(analysis) for analysis in self._wanted}

    def _whole(self, analysis: Analysis) -> Table:
        if analysis.name in self._writers:
            assert self._folder is not None
            mapped = pa.ipc.open_file(pa.memory_map(str(self._folder / analysis.name)))
            return Table.from_arrow(analysis.schema, mapped.read_all())
        parts = self._parts[analysis.name]
        return Table.from_arrow(analysis.schema, pa.concat_tables(parts)) if parts else Table.empty(analysis.schema)

    def _spill(self) -> None:
        """Move what is in memory to files."""
        self._folder = self._folder or scratch_folder()
        schemas = {analysis.name: arrow_schema(analysis.schema) for analysis in self._wanted}
        for name, parts in self._parts.items():
            if parts and name not in self._writers:
                self._writers[name] = pa.ipc.new_file(str(self._folder / name), schemas[name])
            for part in parts:
                self._writers[name].write_table(part.cast(schemas[name]))
            parts.clear()
        self._bytes = 0

    def __enter__(self) -> TableParts:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        for writer in self._writers.values():
            writer.close()
