"""Device work from a database: tasks, collectives and their parts, counters of kernels."""

from __future__ import annotations

from typing import Final

import pyarrow as pa

from stepscope.readers.ascend.database.tables import DURATION, NOWHERE, AscendDatabase, Columns
from stepscope.readers.ascend.vocabulary import NONE_NAMES, device_kind, group_hash
from stepscope.store.staging import Staging

_TASK_COLUMNS: Final[Columns] = {
    "startNs": "int", "endNs": "int", "deviceId": "index", "connectionId": "int", "globalTaskId": "int",
    "taskType": "int", "streamId": "int", "taskId": "int", "modelId": "int",
}  # fmt: skip
_COMPUTE_COLUMNS: Final[Columns] = {
    "name": "int", "globalTaskId": "int", "blockDim": "int", "blockNum": "int", "mixBlockDim": "int",
    "mixBlockNum": "int", "taskType": "int", "opType": "int", "inputFormats": "int", "inputDataTypes": "int",
    "inputShapes": "int", "outputFormats": "int", "outputDataTypes": "int", "outputShapes": "int", "opState": "int",
    "hf32Eligible": "int",
}  # fmt: skip
_OP_COLUMNS: Final[Columns] = {
    "opName": "int", "startNs": "int", "endNs": "int", "connectionId": "int", "groupName": "int", "opId": "int",
    "dataType": "int", "algType": "int", "count": "int", "opType": "int", "deviceId": "index",
}  # fmt: skip
_PART_COLUMNS: Final[Columns] = {
    "name": "int", "globalTaskId": "int", "taskType": "int", "planeId": "index", "groupName": "int", "srcRank": "index",
    "dstRank": "index", "transportType": "int", "size": "int", "linkType": "int", "opId": "int",
}  # fmt: skip
_COPY_COLUMNS: Final[Columns] = {"globalTaskId": "int", "size": "int", "memcpyOperation": "int"}
_ENUMS: Final = ("HCCL_DATA_TYPE", "HCCL_TRANSPORT_TYPE", "HCCL_LINK_TYPE", "MEMCPY_OPERATION")

#: Text columns of a kernel, by their names in `kernel_details.csv`.
_STRINGS: Final = {
    "Input Shapes": "inputShapes", "Input Data Types": "inputDataTypes", "Input Formats": "inputFormats",
    "Output Shapes": "outputShapes", "Output Data Types": "outputDataTypes", "Output Formats": "outputFormats",
    "OP State": "opState", "HF32 Eligible": "hf32Eligible",
}  # fmt: skip


def _args() -> str:
    strings = ", ".join(
        f"'{title}', (SELECT value FROM db_strings s WHERE s.id = c.\"{column}\")" for title, column in _STRINGS.items()
    )
    return (
        "json_object('Task Type', y.value, 'Physic Stream Id', t.\"streamId\", 'Task Id', t.\"taskId\", "
        "'connection_id', t.\"connectionId\", 'Model Id', t.\"modelId\", "
        '\'Block Dim\', coalesce(c."blockDim", c."blockNum"), '
        f'\'Mix Block Dim\', coalesce(c."mixBlockDim", c."mixBlockNum"), {strings})'
    )


_DEVICE: Final = f"""
INSERT INTO ascend_device BY NAME
SELECT b.i, t."startNs" AS ts, {DURATION.format(row="t")} AS dur, t."deviceId" AS device,
    coalesce(t."streamId"::VARCHAR, '{NOWHERE}') AS stream, coalesce(n.value, y.value, 'task') AS name,
    y.value AS task_type,
    CASE WHEN c."globalTaskId" IS NOT NULL THEN 'compute' ELSE coalesce(k.kind, 'part') END AS kind,
    t."connectionId" AS connection, o.op, t."modelId" AS model, p.value AS op_type, r.value AS core,
    u.value AS operands, h.value AS hf32,
    json_merge_patch('{{}}'::JSON, {_args()})::VARCHAR AS args, m.size AS bytes, e.name AS direction
FROM db_tasks t JOIN db_ids b ON b.source = 0 AND b.n = t.rowid
LEFT JOIN db_compute c ON c."globalTaskId" = t."globalTaskId"
LEFT JOIN db_strings n ON n.id = c.name
LEFT JOIN db_strings y ON y.id = t."taskType"
LEFT JOIN db_strings p ON p.id = c."opType"
LEFT JOIN db_strings r ON r.id = c."taskType"
LEFT JOIN db_strings u ON u.id = c."inputDataTypes"
LEFT JOIN db_strings h ON h.id = c."hf32Eligible"
LEFT JOIN db_kinds k ON k.task_type = t."taskType"
LEFT JOIN db_copies m ON m."globalTaskId" = t."globalTaskId"
LEFT JOIN db_memcpy_operation e ON e.id = m."memcpyOperation"
LEFT JOIN db_ops o ON o.connection = t."connectionId"
WHERE t."startNs" IS NOT NULL
"""

_COMM: Final = f"""
INSERT INTO ascend_device BY NAME
SELECT b.i, c."startNs" AS ts, {DURATION.format(row="c")} AS dur, coalesce(c."deviceId", x.device) AS device,
    'group ' || coalesce(g.lane, '{NOWHERE}') AS stream, coalesce(n.value, 'collective') AS name, 'comm' AS kind,
    c."connectionId" AS connection, o.op, y.value AS op_type,
    json_object('connection_id', c."connectionId", 'data_type', e.name, 'alg_type', a.value, 'count', c."count",
    'group', g.recorded)::VARCHAR AS args
FROM db_comm c JOIN db_ids b ON b.source = 1 AND b.n = c.rowid
LEFT JOIN db_groups g ON g.id = c."groupName"
LEFT JOIN db_strings n ON n.id = c."opName"
LEFT JOIN db_strings a ON a.id = c."algType"
LEFT JOIN db_strings y ON y.id = c."opType"
LEFT JOIN db_hccl_data_type e ON e.id = c."dataType"
LEFT JOIN db_ops o ON o.connection = c."connectionId",
    (SELECT min("deviceId") AS device FROM db_tasks) x
WHERE c."startNs" IS NOT NULL
"""

#: Below level 1 the parts of collectives have neither plane nor kind: they are tasks of streams.
_ON_STREAM: Final = 'p."planeId" IS NULL AND p."taskType" NOT IN (SELECT id FROM db_strings WHERE value IS NOT NULL)'

_COLLECTIVES: Final = """
INSERT INTO ascend_collectives
SELECT b.i, g.name, e.name, c."count"
FROM db_comm c JOIN db_ids b ON b.source = 1 AND b.n = c.rowid
LEFT JOIN db_groups g ON g.id = c."groupName" LEFT JOIN db_hccl_data_type e ON e.id = c."dataType"
WHERE c."startNs" IS NOT NULL
"""

_PARTS: Final = f"""
INSERT INTO ascend_parts
SELECT b.i, t."startNs", {DURATION.format(row="t")}, t."deviceId", coalesce(g.lane, '{NOWHERE}'), p."planeId",
    coalesce(y.value, 'part'), y.value, p."srcRank", p."dstRank", r.name, l.name, p.size, k.i
FROM db_parts p JOIN db_ids b ON b.source = 2 AND b.n = p.rowid
JOIN db_tasks t ON t."globalTaskId" = p."globalTaskId"
LEFT JOIN db_groups g ON g.id = p."groupName"
LEFT JOIN db_strings y ON y.id = p."taskType"
LEFT JOIN db_hccl_transport_type r ON r.id = p."transportType"
LEFT JOIN db_hccl_link_type l ON l.id = p."linkType"
LEFT JOIN db_comm c ON c."opId" = p."opId" AND c."groupName" IS NOT DISTINCT FROM p."groupName"
LEFT JOIN db_ids k ON k.source = 1 AND k.n = c.rowid
WHERE t."startNs" IS NOT NULL AND NOT ({_ON_STREAM})
"""

#: Of parts without a plane only their collective is recorded.
_TASK_COLLECTIVES: Final = f"""
INSERT INTO ascend_task_collectives
SELECT b.i, any_value(k.i)
FROM db_parts p JOIN db_tasks t ON t."globalTaskId" = p."globalTaskId" JOIN db_ids b ON b.source = 0 AND b.n = t.rowid
JOIN db_comm c ON c."opId" = p."opId" AND c."groupName" IS NOT DISTINCT FROM p."groupName"
JOIN db_ids k ON k.source = 1 AND k.n = c.rowid
WHERE t."startNs" IS NOT NULL AND c."startNs" IS NOT NULL AND {_ON_STREAM} GROUP BY 1
"""

#: Ids follow those of host calls, in order of time.
_IDS: Final = """
CREATE TABLE db_ids AS
SELECT (SELECT coalesce(max(i) + 1, 0) FROM ascend_host) + row_number() OVER (ORDER BY ts, source, n) - 1 AS i, source,
    n
FROM (
    SELECT 0 AS source, rowid AS n, "startNs" AS ts FROM db_tasks
    UNION ALL SELECT 1, rowid, "startNs" FROM db_comm
    UNION ALL SELECT 2, p.rowid, t."startNs" FROM db_parts p JOIN db_tasks t ON t."globalTaskId" = p."globalTaskId"
)
"""

_HOMELESS: Final = 'SELECT count(*) FROM db_parts p ANTI JOIN db_tasks t ON t."globalTaskId" = p."globalTaskId"'

#: Times of counters are in ns here, ratios are fractions.
_METRICS: Final = """
INSERT INTO kernel_metrics
SELECT b.i, s.value, m.value
FROM db_metrics m JOIN db_tasks t ON t."globalTaskId" = m."globalTaskId"
JOIN db_ids b ON b.source = 0 AND b.n = t.rowid JOIN db_strings s ON s.id = m.name
WHERE m.value IS NOT NULL ORDER BY s.value, b.i
"""


def gather(database: AscendDatabase, staging: Staging) -> None:
    """Fill `ascend_device`, `ascend_collectives`, `ascend_parts`, `kernel_metrics` and `devices`."""
    connection = staging.connection
    database.load(staging, "TASK", _TASK_COLUMNS, "db_tasks", key="globalTaskId", time="startNs")
    compute = database.load(staging, "COMPUTE_TASK_INFO", _COMPUTE_COLUMNS, "db_compute", key="globalTaskId")
    database.load(staging, "COMMUNICATION_OP", _OP_COLUMNS, "db_comm", key="opId", time="startNs")
    database.load(staging, "COMMUNICATION_TASK_INFO", _PART_COLUMNS, "db_parts")
    database.load(staging, "MEMCPY_INFO", _COPY_COLUMNS, "db_copies", key="globalTaskId")
    database.load(staging, "TASK_PMU_INFO", {"globalTaskId": "int", "name": "int", "value": "real"}, "db_metrics")
    for enum in _ENUMS:
        database.load(staging, f"ENUM_{enum}", {"id": "int", "name": "text"}, f"db_{enum.lower()}", key="id")
        connection.execute(f"UPDATE db_{enum.lower()} SET name = NULL WHERE name IN {NONE_NAMES}")
    _insert_groups(staging)
    _insert_kinds(staging, only_described=compute > 0)
    for statement in (_IDS, _DEVICE, _COMM, _COLLECTIVES, _PARTS, _TASK_COLLECTIVES, _METRICS):
        connection.execute(statement)
    [homeless] = staging.one(_HOMELESS)
    staging.observe(
        "parts-untimed", "warning", homeless, "parts of collectives have no task, and so no time",
        "what they waited for and moved is missing; the file may be damaged",
    )  # fmt: skip
    for index, name in database.rows("NPU_INFO", "id", "name"):
        if type(index) is int and 0 <= index < 2**31:
            connection.execute("INSERT INTO devices (device, name, used) VALUES (?, ?, false)", [index, name])


def _insert_groups(staging: Staging) -> None:
    """Number groups in the order of their first collective, with their name in all files and recorded id."""
    rows = staging.connection.execute(
        'SELECT g, any_value(value), min(ts) FROM (SELECT "groupName" AS g, "startNs" AS ts FROM db_comm UNION ALL '
        'SELECT "groupName", NULL FROM db_parts) LEFT JOIN db_strings s ON s.id = g WHERE g IS NOT NULL '
        "GROUP BY 1 ORDER BY min(ts) NULLS LAST, 1"
    ).fetchall()
    recorded = [value if value else str(number) for number, value, _ in rows]
    staging.connection.execute("CREATE TABLE db_groups (id BIGINT, lane VARCHAR, name VARCHAR, recorded VARCHAR)")
    names = [value if value.isdigit() else group_hash(value) for value in recorded]
    columns = {
        "id": pa.array([row[0] for row in rows], pa.int64()),
        "lane": pa.array([str(n) for n in range(len(rows))], pa.string()),
        "name": pa.array(names, pa.string()),
        "recorded": pa.array(recorded, pa.string()),
    }
    staging.insert("db_groups", pa.table(columns))


def _insert_kinds(staging: Staging, *, only_described: bool) -> None:
    """Insert the kind of each task type; compute only where no table describes the kernels."""
    rows = staging.connection.execute(
        'SELECT DISTINCT "taskType", coalesce(value, \'\') FROM db_tasks LEFT JOIN db_strings s ON s.id = "taskType"'
    ).fetchall()
    kinds = [device_kind(value, value) for _, value in rows]
    kinds = ["part" if kind == "compute" and only_described else kind for kind in kinds]
    staging.connection.execute("CREATE TABLE db_kinds (task_type BIGINT, kind VARCHAR)")
    columns = {
        "task_type": pa.array([row[0] for row in rows], pa.int64()),
        "kind": pa.array(kinds, pa.string()),
    }
    staging.insert("db_kinds", pa.table(columns))
