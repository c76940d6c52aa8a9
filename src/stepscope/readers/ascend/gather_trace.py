"""Sort the events of a trace into the gathered tables, by the role of their process."""

from __future__ import annotations

import re
from typing import Final

import pyarrow as pa

from stepscope.readers.ascend.processes import Process
from stepscope.readers.ascend.vocabulary import (
    call_category,
    call_name,
    device_kind,
    known_id,
    mindspore_category,
    torch_category,
)
from stepscope.store.staging import Staging

_HOST: Final = """
INSERT INTO ascend_host
SELECT s.i, s.ts, s.dur, p.system, s.tid, w.name, CASE WHEN s.mark IS NULL THEN w.category ELSE 'annotation' END,
    s.connection, s.queue
FROM ascend_spans s JOIN ascend_processes p USING (pid)
JOIN ascend_words w ON w.role = p.role AND w.word = s.name AND w.kind = coalesce(s.level, s.cat, '')
WHERE p.role IN ('python', 'mindspore', 'mindspore kernels', 'cann', 'other')
"""

_IS_ITERATION: Final = "regexp_full_match(s.name, 'Iteration \\d+')"
#: Lanes of the device that hold marks instead of work.
_MARK_LANE: Final = re.compile(r"step trace\b", re.IGNORECASE)

#: A mark of mstx on a stream is called as on the host: it lasts from where the stream reached its start to where it
#: reached its end, whatever runs meanwhile, and a flow from the host's leads to it.
_DEVICE: Final = """
INSERT INTO ascend_device BY NAME
SELECT s.i, s.ts, s.dur, p.device, s.tid AS stream, s.name, s.task_type,
    CASE WHEN s.task_type IS NULL AND m.ts IS NOT NULL THEN 'control' ELSE w.category END AS kind, s.connection, o.op,
    s.model, s.data_size AS bytes, s.direction, s.args
FROM ascend_spans s JOIN ascend_processes p USING (pid)
LEFT JOIN (SELECT DISTINCT pid, tid, ts FROM ascend_flows WHERE cat = 'MsTx' AND NOT is_source) m
    ON m.pid = s.pid AND m.tid = s.tid AND m.ts = s.ts
JOIN ascend_words w ON w.role = p.role AND w.word = s.name AND w.kind = coalesce(s.task_type, '')
LEFT JOIN ascend_ops o USING (i)
WHERE p.role = 'hardware' AND (s.pid, s.tid) NOT IN (SELECT (pid, tid) FROM ascend_mark_lanes)
"""

#: Iterations of a graph on the device, as msprof finds them, and their parts: no kernels. Where the framework marks no
#: steps, they are the steps.
_MARKS: Final = f"""
INSERT INTO ascend_host BY NAME
SELECT s.i, s.ts, s.dur, 'steps' AS process, l.lane AS thread, CASE WHEN {_IS_ITERATION} AND NOT marked
    THEN 'ProfilerStep#' || regexp_extract(s.name, '(\\d+)$', 1) ELSE s.name END AS name,
    CASE WHEN {_IS_ITERATION} AND NOT marked THEN 'step' ELSE 'annotation' END AS category
FROM ascend_spans s JOIN ascend_mark_lanes l USING (pid, tid),
    (SELECT count(*) > 0 AS marked FROM ascend_host WHERE category = 'step') m
"""

_COMM: Final = """
INSERT INTO ascend_device BY NAME
SELECT s.i, s.ts, s.dur, p.device, 'group ' || l.lane AS stream, s.name, 'comm' AS kind, s.connection, o.op
FROM ascend_spans s JOIN ascend_processes p USING (pid) JOIN ascend_lanes l USING (pid, tid)
LEFT JOIN ascend_ops o USING (i)
WHERE p.role = 'comm' AND l.plane IS NULL
"""

_COLLECTIVES: Final = """
INSERT INTO ascend_collectives
SELECT s.i, NULL, s.dtype, s.elements
FROM ascend_spans s JOIN ascend_processes p USING (pid) JOIN ascend_lanes l USING (pid, tid)
WHERE p.role = 'comm' AND l.plane IS NULL
"""

#: A part belongs to the last collective that started before it.
_PARTS: Final = f"""
INSERT INTO ascend_parts
SELECT t.i, t.ts, t.dur, t.device, t.lane, t.plane, t.name, t.part_type, {known_id("t.src")},
    {known_id("t.dst")}, t.transport, t.link, t.size,
    CASE WHEN t.ts <= c.ts + coalesce(c.dur, 0) THEN c.i END
FROM (
    SELECT s.*, p.device, l.lane, l.plane FROM ascend_spans s JOIN ascend_processes p USING (pid)
    JOIN ascend_lanes l USING (pid, tid) WHERE p.role = 'comm' AND l.plane IS NOT NULL
) t
ASOF LEFT JOIN (
    SELECT s.i, s.ts, s.dur, s.pid, l.lane FROM ascend_spans s JOIN ascend_lanes l USING (pid, tid)
    WHERE l.plane IS NULL
) c ON c.pid = t.pid AND c.lane = t.lane AND t.ts >= c.ts
"""

#: A flow leads from the start of a framework operator to the start of device work.
_OPS: Final = """
CREATE TABLE ascend_ops AS
SELECT w.i, max(o.i) AS op
FROM (SELECT key, ts, pid, tid FROM ascend_flows WHERE cat = 'async_npu' AND NOT is_source) f
JOIN (SELECT key, ts, pid, tid FROM ascend_flows WHERE cat = 'async_npu' AND is_source) s USING (key)
JOIN ascend_spans w ON w.pid = f.pid AND w.tid = f.tid AND w.ts = f.ts
JOIN ascend_spans o ON o.pid = s.pid AND o.tid = s.tid AND o.ts = s.ts
JOIN ascend_processes p ON p.pid = o.pid
WHERE o.cat = 'cpu_op' OR p.role = 'mindspore' AND o.cat = ''
GROUP BY w.i
"""

_FLOWS: Final = """
INSERT INTO ascend_host_flows
SELECT CASE cat WHEN 'fwdbwd' THEN 'forward_backward' WHEN 'async_task_queue' THEN 'queue' ELSE cat END, key,
    is_source, ts, p.system, tid
FROM ascend_flows JOIN ascend_processes p USING (pid) WHERE cat NOT IN ('async_npu', 'HostToDevice', 'MsTx')
"""

_COUNTERS: Final = """
INSERT INTO ascend_counters
SELECT ts, p.name, CASE WHEN series IN (s.name, 'value') THEN s.name ELSE s.name || ' ' || series END, value
FROM ascend_samples s JOIN ascend_processes p USING (pid) WHERE isfinite(value)
"""

#: Rows that the profiler derived; only their sums are stored, for comparison.
_OVERLAP: Final = """
INSERT INTO recorded
SELECT 'overlap', NULL, s.name, unnest(['Count', 'Duration(ns)']), unnest([count(*)::DOUBLE, sum(dur)::DOUBLE])
FROM ascend_spans s JOIN ascend_processes p USING (pid) WHERE p.role = 'overlap' GROUP BY s.name ORDER BY s.name
"""

#: Level 0 omits CANN calls, and older versions omit some; the source of a flow then gives the framework's event that
#: made the call.
_LAUNCH_BY_FLOW: Final = """
CREATE TABLE ascend_launches AS
SELECT d.i, h.i AS launch
FROM (
    SELECT w.i, p.system AS process, s.tid AS thread, s.ts
    FROM (SELECT key, ts, pid, tid FROM ascend_flows WHERE cat = 'HostToDevice' AND NOT is_source) f
    JOIN (SELECT key, ts, pid, tid FROM ascend_flows WHERE cat = 'HostToDevice' AND is_source) s USING (key)
    JOIN ascend_processes p ON p.pid = s.pid
    JOIN ascend_spans w ON w.pid = f.pid AND w.tid = f.tid AND w.ts = f.ts
    ANTI JOIN (SELECT DISTINCT connection FROM ascend_host) c ON c.connection = w.connection
) d
ASOF JOIN (SELECT i, ts, dur, process, thread FROM ascend_host WHERE category = 'queue' AND name LIKE 'Dequeue%') h
ON h.process = d.process AND h.thread = d.thread AND d.ts >= h.ts
WHERE d.ts <= h.ts + coalesce(h.dur, 0)
"""


_WORDS: Final = """
SELECT DISTINCT p.role, coalesce(CASE p.role WHEN 'hardware' THEN s.task_type ELSE coalesce(s.level, s.cat) END, ''),
    s.name
FROM ascend_spans s JOIN ascend_processes p USING (pid)
WHERE p.role IN ('python', 'mindspore', 'mindspore kernels', 'cann', 'hardware', 'other')
"""

#: Ids of launches at level 0 start above all ids of the profiler.
_FIRST_LAUNCH: Final = 2**40


def gather(staging: Staging, found: dict[str, Process]) -> None:
    """Sort the spans, flows and samples of a trace into the gathered tables."""
    connection = staging.connection
    _insert_processes(staging, found)
    _insert_words(staging)
    for statement in (_OPS, _HOST, _MARKS, _DEVICE, _COMM, _COLLECTIVES, _PARTS, _FLOWS, _COUNTERS, _OVERLAP):
        connection.execute(statement)
    _launch_from_queue(staging)
    for table in ("spans", "flows", "samples", "ops", "words", "lanes", "mark_lanes", "processes"):
        connection.execute(f"DROP TABLE ascend_{table}")


def _insert_processes(staging: Staging, found: dict[str, Process]) -> None:
    connection = staging.connection
    connection.execute("CREATE TABLE ascend_lanes (pid VARCHAR, tid VARCHAR, lane VARCHAR, plane INTEGER)")
    connection.execute(
        "CREATE TABLE ascend_processes (pid VARCHAR, name VARCHAR, role VARCHAR, system VARCHAR, device INTEGER)"
    )
    named = [(pid, one.name, one.role, one.system, one.device) for pid, one in found.items()]
    staging.insert_rows("ascend_processes", named)
    lanes = [(pid, tid, lane, plane) for pid, one in found.items() for tid, (lane, plane) in one.lanes.items()]
    staging.insert_rows("ascend_lanes", lanes)
    connection.execute("CREATE TABLE ascend_mark_lanes (pid VARCHAR, tid VARCHAR, lane VARCHAR)")
    hardware = [(pid, one.threads) for pid, one in found.items() if one.role == "hardware"]
    marks = [(pid, tid, name) for pid, threads in hardware for tid, name in threads.items() if _MARK_LANE.match(name)]
    staging.insert_rows("ascend_mark_lanes", marks)


def _insert_words(staging: Staging) -> None:
    """Insert the canonical name of each distinct name, with its category, or its kind for device work."""
    rows = staging.connection.execute(_WORDS).fetchall()
    translated = [_translate(role, kind, word) for role, kind, word in rows]
    columns = {
        "role": [role for role, _, _ in rows],
        "kind": [kind for _, kind, _ in rows],
        "word": [word for _, _, word in rows],
        "name": [name for name, _ in translated],
        "category": [category for _, category in translated],
    }
    staging.connection.execute(
        "CREATE TABLE ascend_words (role VARCHAR, kind VARCHAR, word VARCHAR, name VARCHAR, category VARCHAR)"
    )
    staging.insert("ascend_words", pa.table({k: pa.array(v, pa.string()) for k, v in columns.items()}))


def _translate(role: str, kind: str, word: str) -> tuple[str, str]:
    if role == "hardware":
        return word, device_kind(kind, word)
    if role == "cann":
        name = call_name(kind, word)
        return name, call_category(name)
    if role.startswith("mindspore") and not kind:
        return word, mindspore_category(word)
    return word, torch_category(kind, word)


def _launch_from_queue(staging: Staging) -> None:
    """Use the event that dequeues the task as the launch of device work without a launching call."""
    connection = staging.connection
    connection.execute(_LAUNCH_BY_FLOW)
    connection.execute(
        f"UPDATE ascend_host SET category = 'launch', connection = {_FIRST_LAUNCH} + i "
        "WHERE i IN (SELECT launch FROM ascend_launches)"
    )
    connection.execute(
        f"UPDATE ascend_device SET connection = {_FIRST_LAUNCH} + l.launch FROM ascend_launches l "
        "WHERE l.i = ascend_device.i"
    )
    connection.execute("DROP TABLE ascend_launches")
