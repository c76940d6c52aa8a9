"""`task_time.csv` of `msprof`: tasks of streams with their times, where neither a trace nor `op_summary` has them."""

from __future__ import annotations

import re

import pyarrow as pa

from stepscope.readers.ascend.csvfile import CsvTable
from stepscope.readers.ascend.vocabulary import COLLECTIVES_OWN, COMM_CORES, device_kind
from stepscope.store.staging import Staging

_TASKS = """
INSERT INTO ascend_device BY NAME
SELECT t.row + $first AS i, t.ts, t.dur, t.device, CASE k.kind WHEN 'comm' THEN 'group 0' ELSE t.stream END AS stream,
    t.name, t.type AS task_type, k.kind, CASE k.kind WHEN 'compute' THEN t.type END AS core
FROM ascend_tasks t JOIN ascend_task_kinds k ON k.name = t.name AND k.type = t.type
WHERE t.ts IS NOT NULL ORDER BY t.row
"""
_COLLECTIVES = """
INSERT INTO ascend_collectives SELECT i, NULL, NULL, NULL FROM ascend_device WHERE kind = 'comm'
"""


def add_task_time(staging: Staging, table: CsvTable) -> None:
    """Fill `ascend_device` from the table, unless other files have filled it."""
    connection = staging.connection
    if not table.has("task_start(us)") or staging.one("SELECT count(*) FROM ascend_device") != (0,):
        return
    kernel_type = f"coalesce({table.text('kernel_type')}, '')"
    connection.execute(
        f"CREATE TABLE ascend_tasks AS SELECT row, {table.nanoseconds('task_start(us)')} AS ts, "
        f"{table.nanoseconds('task_time(us)')} AS dur, try_cast({table.text('Device_id')} AS INTEGER) AS device, "
        f"coalesce({table.text('stream_id')}, '0') AS stream, {kernel_type} AS type, "
        f"coalesce({table.text('kernel_name')}, nullif({kernel_type}, ''), 'task') AS name FROM {table.name}"
    )
    words = connection.execute("SELECT DISTINCT name, type FROM ascend_tasks").fetchall()
    kinds = [_kind(name, task) for name, task in words]
    connection.execute("CREATE TABLE ascend_task_kinds (name VARCHAR, type VARCHAR, kind VARCHAR)")
    columns = [*zip(*words, strict=True)] or [(), ()]
    arrays = [pa.array(list(values), pa.string()) for values in (*columns, kinds)]
    staging.insert("ascend_task_kinds", pa.Table.from_arrays(arrays, names=["name", "type", "kind"]))
    [first] = staging.one("SELECT coalesce(max(i) + 1, 0) FROM ascend_host")
    connection.execute(_TASKS, {"first": first})
    connection.execute(_COLLECTIVES)
    for name in ("ascend_tasks", "ascend_task_kinds"):
        connection.execute(f"DROP TABLE {name}")


def _kind(name: str, task: str) -> str:
    is_collective = task in COMM_CORES or name.lower().startswith("hcom_")
    return "comm" if is_collective and not re.search(COLLECTIVES_OWN, name) else device_kind(task, name)
