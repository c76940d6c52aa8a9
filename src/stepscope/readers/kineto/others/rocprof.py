"""Device work in Chrome traces of rocprof (`--hip-trace`, `--hsa-trace`): processes tell it, not categories.

A process `GPU0` has a lane per queue or stream, `COPY` one of copies, `CPU HIP API` and `CPU HSA API` a lane per thread
with its calls, `Markers and Ranges` those of roctx; versions differ in a number before these names. A flow `DataFlow`
leads from a call to what it launched. (rocprofiler's `tblextr.py` and `sqlitedb.py` write them.)
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from stepscope.readers.kineto.metadata import recorded_name
from stepscope.readers.kineto.others.queues import KERNELS_SQL
from stepscope.readers.kineto.vocabulary import event_kind
from stepscope.store.staging import Staging

_PROCESS: Final = re.compile(r"^(?:\d+ )?(?:GPU(\d+)|COPY|CPU (?:HIP|HSA|KFD) API|Markers and Ranges)$")

_TRACKS_SQL: Final = "SELECT track, process, thread FROM tracks WHERE kind = 'host'"
_QUEUE_SQL: Final = """
UPDATE tracks SET kind = 'device', device = ?, stream = ?, process = NULL, thread = NULL, label = ? WHERE track = ?
"""
_WORK_SQL: Final = """
UPDATE raw_events SET category = CASE
    WHEN regexp_matches(n.name, 'copy', 'i') THEN 'copy'
    WHEN regexp_matches(n.name, '^(hcc )?(fill|memset)', 'i') THEN 'set'
    WHEN regexp_matches(n.name, '(n|r)cclDevKernel|ncclKernel|ncclGenericOp') THEN 'collective'
    WHEN regexp_matches(n.name, '\\b(marker|barrier)', 'i') THEN 'other'
    ELSE 'kernel' END
FROM names n WHERE n.name_id = raw_events.name_id AND raw_events.category = 'other'
    AND raw_events.track IN (SELECT unnest(?))
"""
_NAMES_SQL: Final = """
SELECT DISTINCT n.name_id, n.name FROM raw_events e JOIN names n USING (name_id) WHERE e.track IN (SELECT unnest(?))
"""
_CALLS_SQL: Final = """
UPDATE raw_events SET category = k.category
FROM (SELECT unnest(?) AS name_id, unnest(?)::category AS category) k
WHERE k.name_id = raw_events.name_id AND raw_events.track IN (SELECT unnest(?)) AND raw_events.category = 'other'
"""
_RANGES_SQL: Final = """
UPDATE raw_events SET category = 'annotation' WHERE track IN (SELECT unnest(?)) AND category = 'other'
"""
#: A flow begins within its call, and ends where the work begins, both in whole µs.
_LINKS_SQL: Final = """
WITH work AS (
    SELECT f.key, min(e.id) AS id FROM kineto_flows f
    JOIN (SELECT unnest(?) AS track, unnest(?) AS pid, unnest(?) AS tid) q USING (pid, tid)
    JOIN raw_events e ON e.track = q.track AND e.ts = f.ts
    WHERE f.kind = 'DataFlow' AND NOT f.is_source GROUP BY ALL
), calls AS (
    SELECT e.id, e.ts, e.ts + e.dur AS stop, t.process, t.thread
    FROM raw_events e JOIN tracks t USING (track) WHERE t.kind = 'host' AND e.category IN ('launch', 'runtime')
), called AS (
    SELECT f.key, c.id FROM (FROM kineto_flows WHERE kind = 'DataFlow' AND is_source) f
    ASOF JOIN calls c ON c.process = f.pid AND c.thread = f.tid AND c.ts <= f.ts WHERE f.ts <= c.stop + 1000
), linked AS (
    SELECT c.id AS call, min(w.id) AS work FROM work w JOIN called c USING (key) GROUP BY ALL
)
UPDATE raw_events SET correlation = l.call + 1
FROM (SELECT call, call AS id FROM linked UNION ALL SELECT call, work FROM linked) l WHERE l.id = raw_events.id
"""


def add_rocprof(staging: Staging, metadata: Iterable[tuple[str, str, str, str]]) -> bool:
    """Take rocprof's processes for what they are; metadata are names of processes and threads, as recorded.

    Returns:
        Whether there are any.
    """
    found = {pid: match for kind, pid, _, args in metadata
             if kind == "process_name" and (match := _PROCESS.match(recorded_name(args)))}  # fmt: skip
    devices = {pid: int(match[1]) for pid, match in found.items() if match[1] is not None}
    words = {pid: match[0].split(" ", 1)[-1] if match[0][0].isdigit() else match[0] for pid, match in found.items()}
    if not devices or len(found) == len(devices):
        return False
    staging.write_tracks()
    connection = staging.connection
    tracks = connection.execute(_TRACKS_SQL).fetchall()
    copied = {pid: min(devices.values()) for pid, word in words.items() if word == "COPY"}
    queues: list[tuple[int, str, str]] = []
    for track, pid, thread in tracks:
        if pid in devices or pid in copied:
            stream = thread if pid in devices else "copies"
            device = devices.get(pid, copied.get(pid))
            connection.execute(_QUEUE_SQL, [device, stream, f"device {device} stream {stream}", track])
            queues.append((track, pid, thread))
    on_device = [track for track, _, _ in queues]
    for statement in (_WORK_SQL, KERNELS_SQL):
        connection.execute(statement, [on_device])
    calls = [track for track, pid, _ in tracks if words.get(pid, "").endswith(" API")]
    names = connection.execute(_NAMES_SQL, [calls]).fetchall()
    categories = [event_kind("cuda_runtime", name).category for _, name in names]
    connection.execute(_CALLS_SQL, [[name_id for name_id, _ in names], categories, calls])
    connection.execute(_RANGES_SQL, [[track for track, pid, _ in tracks if words.get(pid) == "Markers and Ranges"]])
    connection.execute(_LINKS_SQL, [list(column) for column in zip(*queues, strict=True)] or [[], [], []])
    connection.execute("DELETE FROM kineto_flows WHERE kind = 'DataFlow'")
    staging.observe(
        "times-in-us", "info", 1, "rocprof writes times in whole µs", "the shortest kernels are off by up to 1 µs",
    )  # fmt: skip
    return True
