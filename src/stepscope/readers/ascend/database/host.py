"""Host calls from a database: the framework's operators and Python functions, and CANN."""

from __future__ import annotations

from typing import Final

import pyarrow as pa

from stepscope.readers.ascend.database.tables import NOWHERE, AscendDatabase, Columns
from stepscope.readers.ascend.vocabulary import call_category, call_name, torch_category
from stepscope.store.staging import Staging

#: Kinds of calls, as in the table ENUM_API_TYPE.
_OP, _QUEUE, _PYTHON, _MARK = 50001, 50002, 50003, 50004
_LEVELS: Final = {5000: "runtime", 5500: "hccl", 10000: "node", 15000: "model", 20000: "acl", 30000: "communication"}

_TORCH_COLUMNS: Final[Columns] = {
    "startNs": "int", "endNs": "int", "globalTid": "int", "connectionId": "int", "name": "int",
    "sequenceNumber": "int", "fwdThreadId": "int", "inputDtypes": "int", "inputShapes": "int", "callchainId": "int",
    "type": "int",
}  # fmt: skip
_CANN_COLUMNS: Final[Columns] = {
    "startNs": "int", "endNs": "int", "type": "int", "globalTid": "int", "connectionId": "int", "name": "int"
}  # fmt: skip
_GC_COLUMNS: Final[Columns] = {"startNs": "int", "endNs": "int", "globalTid": "int"}
_MARK_COLUMNS: Final[Columns] = {
    "startNs": "int", "endNs": "int", "eventType": "int", "message": "int", "globalTid": "int"
}  # fmt: skip

#: A thread is (process << 32) | thread.
_THREAD: Final = (
    f"coalesce((\"globalTid\" >> 32)::VARCHAR, '{NOWHERE}') AS process, "
    f"coalesce((\"globalTid\" & 4294967295)::VARCHAR, '{NOWHERE}') AS thread"
)

_CALLS: Final = f"""
CREATE TABLE db_calls AS
SELECT row_number() OVER (ORDER BY ts, stop DESC, n) - 1 AS i, *
FROM (
    SELECT 0 AS source, rowid AS n, "startNs" AS ts, "endNs" AS stop, {_THREAD}, type, name AS name_id, "connectionId"
    FROM db_torch WHERE "startNs" IS NOT NULL
    UNION ALL
    SELECT 1, rowid, "startNs", "endNs", {_THREAD}, type, name, "connectionId"
    FROM db_cann WHERE "startNs" IS NOT NULL
    UNION ALL
    SELECT 2, rowid, "startNs", "endNs", {_THREAD}, {_MARK}, message, NULL
    FROM db_marks WHERE "startNs" IS NOT NULL
    UNION ALL
    SELECT 3, rowid, "startNs", "endNs", {_THREAD}, NULL, NULL, NULL FROM db_gc WHERE "startNs" IS NOT NULL
)
"""

_HOST: Final = f"""
INSERT INTO ascend_host
SELECT c.i, c.ts, try(c.stop - c.ts), c.process, c.thread, w.name, w.category,
    CASE WHEN c.source = 1 THEN c."connectionId" END, CASE WHEN c.type = {_QUEUE} THEN q.key END
FROM db_calls c
JOIN db_words w ON w.source = c.source AND w.type IS NOT DISTINCT FROM c.type
    AND w.name_id IS NOT DISTINCT FROM c.name_id
LEFT JOIN (SELECT id, min("connectionId") AS key FROM db_connections GROUP BY 1) q
    ON c.source = 0 AND q.id = c."connectionId"
"""

#: Some versions swap the columns of shapes and types; only types have letters.
_INPUTS: Final = """
INSERT INTO ascend_inputs
SELECT c.i, CASE WHEN regexp_matches(s.value, '[A-Za-z]') THEN d.value ELSE s.value END,
    CASE WHEN regexp_matches(s.value, '[A-Za-z]') THEN s.value ELSE d.value END,
    k.stack, NULL, t."sequenceNumber", t."fwdThreadId"
FROM db_calls c JOIN db_torch t ON c.source = 0 AND t.rowid = c.n
LEFT JOIN db_strings s ON s.id = t."inputShapes"
LEFT JOIN db_strings d ON d.id = t."inputDtypes"
LEFT JOIN (
    SELECT x.id, string_agg(v.value, ';' ORDER BY x."stackDepth") AS stack
    FROM db_stacks x JOIN db_strings v ON v.id = x.stack GROUP BY 1
) k ON k.id = t."callchainId"
WHERE t.type = 50001
"""

#: An operator and the device work that it launched share connections.
_OPS: Final = f"""
CREATE TABLE db_ops AS
SELECT x."connectionId" AS connection, max(c.i) AS op
FROM db_calls c JOIN db_connections x ON x.id = c."connectionId"
WHERE c.source = 0 AND c.type = {_OP} GROUP BY 1
"""

_QUEUE_FLOWS: Final = """
INSERT INTO ascend_host_flows
SELECT 'queue', queue::VARCHAR, name LIKE 'Enqueue%', ts, process, thread FROM ascend_host WHERE queue IS NOT NULL
"""

#: Flows from the first forward operator with a sequence number to the first backward operator with the same number.
_AUTOGRAD_FLOWS: Final = """
INSERT INTO ascend_host_flows
SELECT 'forward_backward', sequence::VARCHAR, is_source, unnest(ends).ts, unnest(ends).process, unnest(ends).thread
FROM (
    SELECT i.sequence, coalesce(i.forward_thread, 0) = 0 AS is_source,
        [arg_max({'ts': h.ts, 'process': h.process, 'thread': h.thread}, h.ts)] AS ends
    FROM ascend_inputs i JOIN ascend_host h USING (i) WHERE i.sequence >= 0 GROUP BY 1, 2
    QUALIFY count(*) OVER (PARTITION BY i.sequence) = 2
)
"""

#: The database's steps, for recordings without the framework's operators.
_STEPS: Final = """
INSERT INTO ascend_host
SELECT (SELECT coalesce(max(i), -1) FROM ascend_host) + row_number() OVER (ORDER BY "startNs"), "startNs",
    try("endNs" - "startNs"), 'steps', 'steps', 'ProfilerStep#' || id, 'step', NULL, NULL
FROM db_steps WHERE "startNs" IS NOT NULL AND "endNs" >= "startNs"
    AND NOT EXISTS (SELECT 1 FROM ascend_host WHERE category = 'step')
"""


def gather(database: AscendDatabase, staging: Staging) -> None:
    """Fill `ascend_host`, `ascend_inputs` and `ascend_host_flows`, and table `db_ops` (connection, op)."""
    connection = staging.connection
    database.load(staging, "PYTORCH_API", _TORCH_COLUMNS, "db_torch", time="startNs")
    database.load(staging, "CANN_API", _CANN_COLUMNS, "db_cann", time="startNs")
    database.load(staging, "MSTX_EVENTS", _MARK_COLUMNS, "db_marks", time="startNs")
    database.load(staging, "GC_RECORD", _GC_COLUMNS, "db_gc", time="startNs")
    database.load(staging, "STEP_TIME", {"id": "int", "startNs": "int", "endNs": "int"}, "db_steps", time="startNs")
    database.load(staging, "PYTORCH_CALLCHAINS", {"id": "int", "stack": "int", "stackDepth": "int"}, "db_stacks")
    connection.execute(_CALLS)
    _insert_words(database, staging)
    for statement in (_HOST, _INPUTS, _OPS, _QUEUE_FLOWS, _AUTOGRAD_FLOWS, _STEPS):
        connection.execute(statement)
    for table in ("torch", "cann", "marks", "gc", "steps", "stacks", "calls", "words"):
        connection.execute(f"DROP TABLE db_{table}")


def _insert_words(database: AscendDatabase, staging: Staging) -> None:
    """Insert the canonical name and category of each distinct (kind, name) of calls."""
    levels = {**_LEVELS, **{i: n for i, n in database.rows("ENUM_API_TYPE", "id", "name") if isinstance(n, str)}}
    rows = staging.connection.execute(
        "SELECT DISTINCT source, type, name_id, coalesce(value, '') FROM db_calls "
        "LEFT JOIN db_strings s ON s.id = name_id"
    ).fetchall()
    words = [_word(source, kind, levels.get(kind, ""), value) for source, kind, _, value in rows]
    staging.connection.execute(
        "CREATE TABLE db_words (source INTEGER, type BIGINT, name_id BIGINT, name VARCHAR, category VARCHAR)"
    )
    columns = {
        "source": pa.array([row[0] for row in rows], pa.int32()),
        "type": pa.array([row[1] for row in rows], pa.int64()),
        "name_id": pa.array([row[2] for row in rows], pa.int64()),
        "name": pa.array([name for name, _ in words], pa.string()),
        "category": pa.array([category for _, category in words], pa.string()),
    }
    staging.insert("db_words", pa.table(columns))


def _word(source: int, kind: int | None, level: str, value: str) -> tuple[str, str]:
    if source == 1:
        name = call_name(level, value)
        return name, call_category(name)
    if source == 3:
        return "GC", "gc"
    cat = {_OP: "cpu_op", _QUEUE: "enqueue", _PYTHON: "python_function", _MARK: "mstx"}.get(kind or 0, "")
    return value, torch_category(cat, value)
