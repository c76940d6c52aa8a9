"""The canonical tables as Parquet files, one per table, and beside them what they were made of."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from stepscope.ingest.written import EXPORT
from stepscope.model.table import arrow_schema
from stepscope.model.tables import TABLES
from stepscope.model.trace import Trace


def write(traces: Sequence[Trace], folder: Path) -> None:
    """Write TABLE.parquet for every canonical table into an existing folder, and a file that names their recordings.

    Args:
        traces: Traces of one rank each.
        folder: Where to write.
    """
    for table in TABLES:
        schema = arrow_schema(table)
        columns = ", ".join(f'"{name}"' for name in table.names)
        with pq.ParquetWriter(folder / f"{table.name}.parquet", schema, compression="zstd") as writer:
            for trace in traces:
                for batch in trace.batches(f"SELECT {columns} FROM {table.name}"):
                    writer.write_table(pa.Table.from_batches([batch]).cast(schema))
    sources = [str(Path(recording.source).resolve()) for trace in traces for recording in trace.recordings.values()]
    text = f'{{\n"schema": "stepscope.export/1",\n"source": {json.dumps(list(dict.fromkeys(sources)))}\n}}\n'
    (folder / EXPORT).write_text(text, encoding="utf-8")
