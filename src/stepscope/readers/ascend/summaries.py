"""Store the profiler's own sums as recorded, in table `recorded`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from stepscope.readers.ascend.csvfile import CsvTable, observe_zeros
from stepscope.readers.ascend.files import read_json
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

Row = tuple[str, str | None, str, str, float]


def add_table(staging: Staging, table: CsvTable, kind: str) -> None:
    """Store every number of a CSV file of `TABLES`."""
    source, steps, subjects = TABLES[kind]
    subject = " || ' ' || ".join(f"coalesce({table.text(name)}, '')" for name in subjects) or "''"
    columns = [c for c in table.columns if c not in (*steps, *subjects) and c.lower() not in _KEYS]
    if columns:
        staging.connection.execute(
            "INSERT INTO recorded SELECT $source, step, subject, $columns[nth], value FROM ("
            f"SELECT row, {table.text(*steps)} AS step, {subject} AS subject, "
            f"unnest(range(1, {len(columns) + 1})) AS nth, unnest([{', '.join(map(table.number, columns))}]) AS value "
            f"FROM {table.name}) WHERE value IS NOT NULL ORDER BY nth, row",
            {"source": source, "columns": columns},
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
    value = _object(staging, path)
    rows: list[Row] = []
    groups: dict[str, str] = {}
    for step, kind, name, operation in _operations(value):
        bare, at, group = name.partition("@")
        if at:
            groups[bare] = group
        for title, numbers in operation.items():
            if title == "Communication Time Info":
                rows += _numbers("communication", step, f"{kind} {name}", numbers)
            elif isinstance(numbers, dict):
                for transport, details in numbers.items():
                    rows += _numbers("bandwidth", step, f"{kind} {name} {transport}", details)
                    rows += list(_packets(step, f"{kind} {name} {transport}", details))
    insert(staging, rows)
    return groups


def add_matrix(staging: Staging, path: Path) -> None:
    """Store the numbers of `communication_matrix.json`: a subject is an operation and a link (`0-1`).

    Kinds of operations name the operation that they are about: it is stored in the metric's place.
    """
    rows: list[Row] = []
    for step, kind, name, links in _operations(_object(staging, path)):
        for link, numbers in links.items():
            transport = numbers.get("Transport Type") if isinstance(numbers, dict) else None
            subject = f"{kind} {name} {link} {transport or ''}".strip()
            rows += _numbers("matrix", step, subject, numbers)
            if isinstance(numbers, dict) and isinstance(numbers.get("Op Name"), str):
                rows.append(("matrix operation", step or None, subject, numbers["Op Name"], 1.0))
    insert(staging, rows)


def insert(staging: Staging, rows: list[Row]) -> None:
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
    staging.observe(
        "file-unreadable", "warning", int(value is None), f"{path.name} is no JSON", "its contents are missing"
    )
    observe_zeros(staging, path)
    return value or {}


def _operations(value: dict[str, Any]) -> Iterator[tuple[str, str, str, dict[str, Any]]]:
    """Yield (step, p2p or collective, operation, its values)."""
    for step, kinds in value.items():
        for kind, operations in kinds.items() if isinstance(kinds, dict) else ():
            for name, details in operations.items() if isinstance(operations, dict) else ():
                if isinstance(details, dict):
                    yield step.removeprefix("step"), kind, name, details


def _numbers(source: str, step: str, subject: str, numbers: Any) -> Iterator[Row]:
    for metric, value in numbers.items() if isinstance(numbers, dict) else ():
        if isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < 1e300:
            yield source, step or None, subject, metric, float(value)


def _packets(step: str, subject: str, details: Any) -> Iterator[Row]:
    sizes = details.get("Size Distribution") if isinstance(details, dict) else None
    for size, pair in sizes.items() if isinstance(sizes, dict) else ():
        if isinstance(pair, list) and len(pair) == 2 and all(isinstance(n, (int, float)) for n in pair):
            yield "packets", step or None, f"{subject} {size} MB", "Count", float(pair[0])
            yield "packets", step or None, f"{subject} {size} MB", "Duration(ms)", float(pair[1])
