"""Device activity: its launch, operator, module, step and class."""

from __future__ import annotations

from typing import Final

import duckdb
import pyarrow as pa

from stepscope.ingest.derive.costs import find_costs
from stepscope.model.kernel_names import classify
from stepscope.store.staging import Staging

_WORK_SQL: Final = """
CREATE TABLE device_work AS
SELECT k.event, e.ts, e.dur, e.track, e.name_id, e.correlation, e.external_id, k.kind, k.in_graph
FROM raw_kernels k JOIN raw_events e ON e.id = k.event
"""

#: Launches by correlation. Where a correlation names several host calls (a runtime call and the driver call
#: inside it), the launch call counts before any other, and the outermost before the inner one. One number stands for
#: what is compared and, in its last 63 bits, the event: structures would need memory for each group.
_LAUNCHES_SQL: Final = """
CREATE TABLE launches AS
SELECT correlation, (min(key) % 9223372036854775808)::BIGINT AS launch
FROM (
    SELECT e.correlation, ((CASE e.category WHEN 'launch' THEN 0 ELSE 1 END)::HUGEINT * 4611686018427387904 + e.ts)
        * 9223372036854775808 + e.id AS key
    FROM raw_events e JOIN tracks USING (track)
    WHERE tracks.kind = 'host' AND e.category IN ('launch', 'runtime', 'sync') AND e.correlation > 0
)
GROUP BY correlation
"""

# What is around launches is looked up apart from the kernels: each join with all host events needs memory of its own.
_LAUNCHED_SQL: Final = """
CREATE TABLE launched AS
SELECT l.correlation, l.launch, e.ts, e.dur, e.track, e.name_id, h.op, h.module, h.step
FROM launches l JOIN raw_events e ON e.id = l.launch LEFT JOIN nesting h ON h.id = l.launch
"""

#: Where the launch tells no operator, the external id may.
_EXTERNAL_SQL: Final = """
CREATE TABLE external_ops AS
SELECT x.external_id, x.op, h.module, h.step
FROM (
    SELECT external_id, max(id) AS op FROM raw_events
    SEMI JOIN (SELECT k.external_id FROM device_work k LEFT JOIN launched l USING (correlation)
        WHERE l.op IS NULL AND k.external_id > 0) USING (external_id)
    WHERE category = 'op' GROUP BY 1
) x LEFT JOIN nesting h ON h.id = x.op
"""

_KERNELS_SQL: Final = """
CREATE TABLE kernels AS
SELECT k.event, k.ts, coalesce(k.dur, 0) AS dur, k.track, t.device, k.name_id,
    coalesce(k.kind, CASE c.op_class WHEN 'collective' THEN 'comm' ELSE 'compute' END) AS kind,
    CASE k.kind WHEN 'comm' THEN 'collective' WHEN 'copy' THEN 'copy' WHEN 'set' THEN 'copy' WHEN 'sync' THEN 'other'
        ELSE c.op_class END AS op_class,
    l.launch, coalesce(l.op, x.op) AS op, coalesce(l.module, x.module) AS module,
    CASE WHEN l.op IS NULL THEN coalesce(x.step, l.step, s.step) ELSE l.step END AS step,
    k.correlation, CASE WHEN coalesce(k.in_graph, g.correlation IS NOT NULL) THEN l.launch END AS graph,
    l.ts AS launch_ts, l.dur AS launch_dur, l.track AS launch_track, l.name_id AS launch_name_id, l.step AS launch_step,
    o.ts AS op_ts, o.track AS op_track, o.name_id AS op_name_id
FROM device_work k
JOIN tracks t USING (track)
JOIN name_classes c USING (name_id)
LEFT JOIN launched l USING (correlation)
LEFT JOIN external_ops x ON l.op IS NULL AND x.external_id = k.external_id
LEFT JOIN raw_events o ON o.id = coalesce(l.op, x.op)
LEFT JOIN shared_launches g ON g.correlation = k.correlation
LEFT JOIN unlaunched_steps s ON s.event = k.event
ORDER BY k.ts, k.event
"""

#: The rows of `activities`: what was derived, and the wide columns as recorded.
ACTIVITIES_SQL: Final = """
SELECT k.event, k.ts, k.dur, k.track, k.device, t.stream, n.name, k.kind, k.op_class, k.launch, k.op, k.module, k.step,
    k.correlation, r.grid, r.block, r.registers, r.shared_bytes, r.occupancy, coalesce(r.dtype, c.dtype) AS dtype,
    c.tensor_core, f.flops, coalesce(cp.bytes, f.bytes) AS bytes, k.graph, r.op_type, r.core,
    k.name_id, k.launch_ts, k.launch_dur, k.launch_track, k.launch_name_id, k.launch_step, k.op_ts, k.op_track,
    k.op_name_id
FROM kernels k
JOIN raw_kernels r USING (event)
JOIN tracks t USING (track)
JOIN names n USING (name_id)
JOIN name_classes c USING (name_id)
LEFT JOIN copies cp USING (event)
LEFT JOIN kernel_costs f USING (event)
ORDER BY k.ts, k.event
"""

#: Several kernels of one launch come from a graph. Copies and waits may share a launch without one.
_SHARED_SQL: Final = """
CREATE TABLE shared_launches AS
SELECT correlation FROM device_work WHERE coalesce(kind, 'compute') IN ('compute', 'comm') AND correlation > 0
GROUP BY 1 HAVING count(*) > 1
"""

#: Work whose launch was not recorded belongs to the step in which it begins.
_UNLAUNCHED_SQL: Final = """
CREATE TABLE unlaunched_steps AS
SELECT k.event, s.step
FROM (SELECT event, ts FROM device_work ANTI JOIN launches USING (correlation)) k
ASOF JOIN raw_steps s ON k.ts >= s.ts
WHERE k.ts < s.ts + s.dur
"""


def gather_work(staging: Staging) -> None:
    """Table `device_work`: what is needed of the events of device activities."""
    staging.connection.execute(_WORK_SQL)


def find_launches(staging: Staging) -> None:
    """Find what kernels can be told of without the nesting of host threads; may run beside `nest_hosts`."""
    with staging.connection.cursor() as connection:
        _classify_names(connection)
        for query in (_LAUNCHES_SQL, _SHARED_SQL, _UNLAUNCHED_SQL):
            connection.execute(query)


def derive_kernels(staging: Staging) -> None:
    """Fill `kernels` from the raw device activities, their launches and the nesting of host threads.

    It has the columns that are derived; what is only recorded joins them when they are stored.
    """
    for query in (_LAUNCHED_SQL, _EXTERNAL_SQL, _KERNELS_SQL):
        staging.connection.execute(query)
    find_costs(staging)


def _classify_names(connection: duckdb.DuckDBPyConnection) -> None:
    rows = connection.execute(
        "SELECT name_id, name FROM (SELECT DISTINCT name_id FROM device_work) JOIN names USING (name_id)"
    ).fetchall()
    classes = [classify(name) for _, name in rows]
    connection.execute(
        "CREATE TABLE name_classes (name_id INTEGER, op_class VARCHAR, dtype VARCHAR, tensor_core BOOLEAN)"
    )
    columns = {
        "name_id": pa.array([name_id for name_id, _ in rows], pa.int32()),
        "op_class": pa.array([c.op_class for c in classes], pa.string()),
        "dtype": pa.array([c.dtype for c in classes], pa.string()),
        "tensor_core": pa.array([c.tensor_core for c in classes], pa.bool_()),
    }
    connection.register("classes", pa.table(columns))
    connection.execute("INSERT INTO name_classes BY NAME SELECT * FROM classes")
    connection.unregister("classes")
