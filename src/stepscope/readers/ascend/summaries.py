"""Store the profiler's own sums as recorded, in table `recorded`."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from stepscope.model.sums.rank import SumRow
from stepscope.readers.ascend.csvfile import CsvTable, at_a_time, observe_zeros
from stepscope.readers.ascend.files import read_json, why_unread
from stepscope.readers.ascend.sum_rows import communication_rows, matrix_rows
from stepscope.store.staging import Staging

#: By file: source in `recorded`, column of the step, and columns that make up the subject.
TABLES: Final[dict[str, tuple[str, tuple[str, ...], tuple[str, ...]]]] = {
    "step_trace_time": ("steps", ("Step",), ()),
    "op_statistic": ("operators", (), ("OP Type", "Core Type")),
    "api_statistic": ("api", (), ("Level", "API Name")),
    "data_preprocess": ("data_preprocess", (), ("Node",)),
}
_KEYS: Final = frozenset({"device_id", "device id", "stream id", "task id", "timestamp", "timestamp(us)"})
#: Columns of `data_preprocess.csv`, whose unit was ms before CANN 7: name in `kernel_metrics`, and spellings.
_AI_CPU: Final = {
    f"ai_cpu_{part.lower()}_time": ((f"{part}_time(us)", 1e3), (f"{part}_time(ms)", 1e6))
    for part in ("Compute", "Memcpy", "Task", "Dispatch", "Total")
}


def add_table(staging: Staging, table: CsvTable, kind: str) -> None:
    """Store every number of a CSV file of `TABLES`."""
    source, steps, subjects = TABLES[kind]
    subject = " || ' ' || ".join(f"coalesce({table.text(name)}, '')" for name in subjects) or "''"
    columns = [c for c in table.columns if c not in (*steps, *subjects) and c.lower() not in _KEYS]
    for several in at_a_time(columns):
        staging.connection.execute(
            "INSERT INTO recorded SELECT $source, step, subject, $columns[nth], value FROM ("
            f"SELECT row, {table.text(*steps)} AS step, {subject} AS subject, "
            f"unnest(range(1, {len(several) + 1})) AS nth, unnest([{', '.join(map(table.number, several))}]) AS value "
            f"FROM {table.name}) WHERE value IS NOT NULL ORDER BY nth, row",
            {"source": source, "columns": list(several)},
        )


def add_l2_cache(staging: Staging, table: CsvTable) -> None:
    """Store hit and victim rates of the L2 cache; kernels are matched by stream, task and name."""
    stream, task, name = table.text("Stream Id"), table.text("Task Id"), table.text("Op Name")
    connection = staging.connection
    connection.execute(
        "CREATE TABLE ascend_l2 AS SELECT m.i, l.hit, l.victim FROM ("
        f"SELECT row, {stream} AS stream, {task} AS task, {name} AS name, {table.number('Hit Rate')} AS hit, "
        f"{table.number('Victim Rate')} AS victim, "
        f"row_number() OVER (PARTITION BY {stream}, {task}, {name} ORDER BY row) AS nth FROM {table.name}) l JOIN ("
        "SELECT i, stream, name, task, row_number() OVER (PARTITION BY stream, task, name ORDER BY ts) AS nth FROM ("
        "SELECT i, ts, name, coalesce(json_extract_string(args, '$.\"Physic Stream Id\"'), stream) AS stream, "
        "json_extract_string(args, '$.\"Task Id\"') AS task FROM ascend_device WHERE kind = 'compute')) m "
        "USING (stream, task, name, nth)"
    )
    for column, metric in (("hit", "l2_hit_rate"), ("victim", "l2_victim_rate")):
        connection.execute(
            f"INSERT INTO kernel_metrics SELECT i, '{metric}', {column} FROM ascend_l2 WHERE {column} IS NOT NULL "
            "ORDER BY i"
        )
    [found] = staging.one("SELECT count(*) FROM ascend_l2")
    staging.observe(
        "l2-unmatched", "info", table.rows - found, "rows of l2_cache.csv have no kernel in the trace",
        "their hit rates are left out",
    )  # fmt: skip
    connection.execute("DROP TABLE ascend_l2")


def add_ai_cpu(staging: Staging, table: CsvTable) -> None:
    """Store times of AI CPU kernels, matched by stream and task, and their recorded sums."""
    add_table(staging, table, "data_preprocess")
    stream, task = table.text("Stream ID", "Stream Id"), table.text("Task ID", "Task Id")
    for metric, spellings in _AI_CPU.items():
        for column, factor in spellings:
            if not table.has(column):
                continue
            staging.connection.execute(
                f"INSERT INTO kernel_metrics SELECT k.i, '{metric}', r.value * {factor} FROM ("
                f"SELECT {stream} AS stream, {task} AS task, {table.number(column)} AS value, "
                f"row_number() OVER (PARTITION BY {stream}, {task} ORDER BY row) AS nth FROM {table.name}) r JOIN ("
                "SELECT i, stream, task, row_number() OVER (PARTITION BY stream, task ORDER BY ts) AS nth FROM ("
                "SELECT i, ts, coalesce(json_extract_string(args, '$.\"Physic Stream Id\"'), stream) AS stream, "
                "json_extract_string(args, '$.\"Task Id\"') AS task FROM ascend_device "
                "WHERE kind = 'compute' AND core = 'AI_CPU')) k USING (stream, task, nth) "
                "WHERE r.value IS NOT NULL ORDER BY k.i"
            )
            break


def add_communication(staging: Staging, path: Path) -> dict[str, str]:
    """Store the numbers of `communication.json`; returns the full group name by operation."""
    rows, groups = communication_rows(_object(staging, path))
    insert(staging, rows)
    return groups


def add_matrix(staging: Staging, path: Path) -> None:
    """Store the numbers of `communication_matrix.json`."""
    insert(staging, matrix_rows(_object(staging, path)))


def insert(staging: Staging, rows: list[SumRow]) -> None:
    """Append rows to `recorded`."""
    if not rows:
        return
    columns = zip(*rows, strict=True)
    types = (pa.string(), pa.string(), pa.string(), pa.string(), pa.float64())
    arrays = [pa.array(list(column), kind) for column, kind in zip(columns, types, strict=True)]
    names = ["source", "step", "subject", "metric", "value"]
    staging.insert("recorded", pa.Table.from_arrays(arrays, names=names))


def _object(staging: Staging, path: Path) -> dict[str, Any]:
    value = read_json(path)
    staging.observe("file-unreadable", "warning", int(value is None), why_unread(path), "its contents are missing")
    observe_zeros(staging, path)
    return value or {}
