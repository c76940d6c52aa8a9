"""The canonical tables as Parquet files, one per table."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from stepscope.model.table import arrow_schema
from stepscope.model.tables import TABLES
from stepscope.model.trace import Trace


def write(traces: Sequence[Trace], folder: Path) -> None:
    """Write TABLE.parquet for every canonical table into an existing folder.

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
