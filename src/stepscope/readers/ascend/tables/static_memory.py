"""Memory that compiled graphs plan for their operators: `static_op_mem.csv`.

It has no times: an operator's memory is taken when the graph comes to one of its nodes, and given back at another one.
"""

from __future__ import annotations

from typing import Final

from stepscope.readers.ascend.csvfile import CsvTable
from stepscope.store.staging import Staging

#: Given back when the graph is.
_NEVER: Final = 4294967295
#: What a graph asks for in all, in the last row of newer versions: it is no operator.
_TOTAL: Final = "TOTAL"


def add_static_memory(staging: Staging, table: CsvTable) -> None:
    """Store each operator's bytes in `recorded`, as `static_memory`.

    The subject is `graph|model|from|to|operator`, nodes empty where they are not told or memory is never given back.
    """
    end = table.integer("Node Index End")
    words = (
        table.text("Graph ID"), table.text("Model Name"), f"({table.integer('Node Index Start')})::VARCHAR",
        f"(CASE WHEN {end} <> {_NEVER} THEN {end} END)::VARCHAR", table.text("Op Name"),
    )  # fmt: skip
    subject = " || '|' || ".join(f"coalesce({word}, '')" for word in words)
    staging.connection.execute(
        "INSERT INTO recorded SELECT 'static_memory', NULL, subject, 'bytes', bytes FROM ("
        f"SELECT row, {subject} AS subject, {table.text('Op Name')} AS name, "
        f"{table.number('Size(KB)')} * 1024 AS bytes FROM {table.name}) "
        "WHERE bytes > 0 AND name IS DISTINCT FROM $total ORDER BY row",
        {"total": _TOTAL},
    )
