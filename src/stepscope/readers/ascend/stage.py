"""Fill the staging tables from the gathered ones, for both exports alike."""

from __future__ import annotations

import json
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

import pyarrow as pa

from stepscope.model.bus import bus_factor
from stepscope.readers.ascend.hardware.kernel_work import stage_costs
from stepscope.readers.ascend.memory import stage_memory
from stepscope.readers.ascend.sums import Sum
from stepscope.readers.ascend.vocabulary import ELEMENT_BYTES, NONE_NAMES, known_id, operand_type, operation, part_kind
from stepscope.store.staging import Staging

#: Connections count from 0, correlations from 1.
_CORRELATION: Final = f"try({known_id('connection')} + 1)"

_HOST: Final = f"""
INSERT INTO raw_events
SELECT h.i, h.ts, h.dur, t.track, n.name_id, h.category, {_CORRELATION},
    CASE WHEN h.i IN (SELECT op FROM ascend_device) THEN h.i + 1 END
FROM ascend_host h JOIN ascend_tracks t ON t.kind = 'host' AND t.first = h.process AND t.second = h.thread
JOIN names n USING (name)
"""

#: Of a collective's parts only waits are rows of `kernels`; the collective itself is the work.
_DEVICE: Final = f"""
INSERT INTO raw_events
SELECT d.i, d.ts, d.dur, t.track, n.name_id,
    CASE d.kind WHEN 'compute' THEN 'kernel' WHEN 'comm' THEN 'collective' WHEN 'summed' THEN 'collective'
        WHEN 'part' THEN 'other' WHEN 'control' THEN 'other' ELSE d.kind END,
    {_CORRELATION}, d.op + 1
FROM ascend_device d
JOIN ascend_tracks t ON t.kind = 'device' AND t.first IS NOT DISTINCT FROM d.device::VARCHAR AND t.second = d.stream
JOIN names n USING (name)
"""

#: Parts on streams are rows of `kernels` if they are waits.
_PARTS: Final = """
INSERT INTO raw_events
SELECT p.i, p.ts, p.dur, t.track, n.name_id, 'other', NULL, NULL
FROM ascend_parts p
JOIN ascend_tracks t ON t.kind = 'device' AND t.first IS NOT DISTINCT FROM p.device::VARCHAR
    AND t.second = 'group ' || p.lane || ' plane ' || coalesce(p.plane, 0)
JOIN names n USING (name)
"""

_KERNELS: Final = f"""
INSERT INTO raw_kernels BY NAME
SELECT i AS event, kind, coalesce({known_id("model")} > 0, false) AS in_graph, op_type, core, o.dtype
FROM ascend_device d LEFT JOIN ascend_operands o
    ON o.operands = d.operands AND o.hf32 IS NOT DISTINCT FROM d.hf32
WHERE kind IN ('compute', 'comm', 'copy', 'set', 'sync')
"""

_COPIES: Final = """
INSERT INTO copies
SELECT i, CASE
        WHEN kind = 'set' THEN 'set'
        WHEN direction ILIKE '%host_to_device%' THEN 'HtoD'
        WHEN direction ILIKE '%device_to_host%' THEN 'DtoH'
        WHEN direction ILIKE '%device_to_device%' THEN 'DtoD'
        WHEN task_type = 'SDMA_SQE' THEN 'DtoD'
        ELSE 'unknown' END, bytes, NULL, NULL
FROM ascend_device WHERE kind IN ('copy', 'set')
"""

_COMM_TASKS: Final = f"""
INSERT INTO comm_tasks
SELECT p.i, p.collective, k.kind, p.plane, try_cast(p.src AS INTEGER), try_cast(p.dst AS INTEGER),
    CASE WHEN p.transport NOT IN {NONE_NAMES} THEN p.transport END,
    CASE WHEN p.link NOT IN {NONE_NAMES} THEN p.link END, CASE WHEN p.bytes >= 0 THEN p.bytes END
FROM ascend_parts p JOIN ascend_part_kinds k ON k.task_type = coalesce(p.task_type, p.name)
ORDER BY p.i
"""

#: Without planes (level 0) the tasks on streams are the parts. Where their collective is not recorded, it is the one
#: running at the time, unless several were.
_COMM_TASKS_OF_STREAMS: Final = """
INSERT INTO comm_tasks BY NAME
SELECT d.i AS event, c.i AS collective, k.kind
FROM (FROM ascend_device ANTI JOIN ascend_task_collectives USING (i)) d
JOIN ascend_part_kinds k ON k.task_type = coalesce(d.task_type, d.name)
ASOF JOIN (
    SELECT i, device, ts, ts + coalesce(dur, 0) AS stop, coalesce(max(ts + coalesce(dur, 0)) OVER (
        PARTITION BY device ORDER BY ts ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0) AS others_stop
    FROM ascend_device WHERE kind = 'comm'
) c ON c.device IS NOT DISTINCT FROM d.device AND d.ts >= c.ts
WHERE d.kind IN ('part', 'sync') AND k.kind IN ('wait', 'copy', 'reduce', 'send') AND d.ts < c.stop
    AND c.others_stop <= d.ts AND NOT EXISTS (FROM ascend_parts)
UNION ALL BY NAME
SELECT d.i AS event, t.collective, k.kind
FROM ascend_device d JOIN ascend_part_kinds k ON k.task_type = coalesce(d.task_type, d.name)
JOIN ascend_task_collectives t USING (i)
WHERE k.kind IN ('wait', 'copy', 'reduce', 'send')
ORDER BY 1
"""

_FLOWS: Final = """
INSERT INTO raw_flows
SELECT a.kind, a.key, a.is_source, a.ts, t.track
FROM ascend_host_flows a JOIN ascend_tracks t ON t.kind = 'host' AND t.first = a.process AND t.second = a.thread
"""

_TRACKS: Final = """
SELECT 'host', process, thread, min(i) AS i FROM ascend_host GROUP BY 2, 3
UNION ALL SELECT 'device', device::VARCHAR, stream, min(i) FROM ascend_device GROUP BY 2, 3
UNION ALL SELECT 'device', device::VARCHAR, 'group ' || lane || ' plane ' || coalesce(plane, 0), min(i)
FROM ascend_parts GROUP BY 2, 3
ORDER BY 4
"""


#: Parts name ranks by their place in the group: the highest one shows how many it has at least.
_PEERS: Final = """
SELECT collective, max(greatest(coalesce(src, 0), coalesce(dst, 0))) + 1 FROM ascend_parts
WHERE collective IS NOT NULL AND src IS NOT NULL AND dst IS NOT NULL AND src < 1000000 AND dst < 1000000 GROUP BY 1
HAVING max(greatest(src, dst)) > 0
"""
_NO_SUM: Final = Sum(None, None)


def stage(staging: Staging) -> None:
    """Fill the staged tables and drop the gathered ones."""
    connection = staging.connection
    _make_tracks(staging)
    _make_part_kinds(staging)
    _make_operands(staging)
    for table in ("ascend_host", "ascend_device", "ascend_parts"):
        staging.intern_names(table)
    for statement in (_HOST, _DEVICE, _PARTS, _KERNELS, _COPIES, _COMM_TASKS, _COMM_TASKS_OF_STREAMS, _FLOWS):
        connection.execute(statement)
    staging.add_args("SELECT i AS id, args FROM ascend_device WHERE args IS NOT NULL ORDER BY i")
    _stage_inputs(staging)
    stage_costs(staging)
    stage_memory(staging)
    _stage_counters(staging)


def _make_tracks(staging: Staging) -> None:
    connection = staging.connection
    connection.execute("CREATE TABLE ascend_tracks (kind VARCHAR, first VARCHAR, second VARCHAR, track INTEGER)")
    rows = []
    for kind, first, second, _ in connection.execute(_TRACKS).fetchall():
        if kind == "host":
            track = staging.track("host", process=first, thread=second)
        else:
            track = staging.track("device", device=None if first is None else int(first), stream=second)
        rows.append((kind, first, second, track))
    staging.insert_rows("ascend_tracks", rows)


def _make_part_kinds(staging: Staging) -> None:
    rows = staging.connection.execute(
        "SELECT DISTINCT coalesce(task_type, name) FROM ascend_parts UNION "
        "SELECT DISTINCT coalesce(task_type, name) FROM ascend_device WHERE kind IN ('part', 'sync')"
    ).fetchall()
    staging.connection.execute("CREATE TABLE ascend_part_kinds (task_type VARCHAR, kind VARCHAR)")
    staging.insert_rows("ascend_part_kinds", [(task_type, part_kind(task_type)) for (task_type,) in rows])


def _make_operands(staging: Staging) -> None:
    rows = staging.connection.execute(
        "SELECT DISTINCT operands, hf32 FROM ascend_device WHERE operands IS NOT NULL"
    ).fetchall()
    columns = [*zip(*rows, strict=True)] or [(), ()]
    types = [operand_type(operands, hf32) for operands, hf32 in rows]
    staging.connection.execute("CREATE TABLE ascend_operands (operands VARCHAR, hf32 VARCHAR, dtype VARCHAR)")
    names = ("operands", "hf32", "dtype")
    values = [pa.array(list(column), pa.string()) for column in (*columns, types)]
    staging.insert("ascend_operands", pa.Table.from_arrays(values, names=names))


def _stage_inputs(staging: Staging) -> None:
    """Stage shapes and types as JSON; each distinct text is converted once."""
    connection = staging.connection
    for column, table in (("shapes", "ascend_shapes"), ("dtypes", "ascend_dtypes")):
        rows = connection.execute(f"SELECT DISTINCT {column} FROM ascend_inputs WHERE {column} <> ''").fetchall()
        convert = shapes_json if column == "shapes" else types_json
        connection.execute(f"CREATE TABLE {table} (text VARCHAR, json VARCHAR)")
        texts = [text for (text,) in rows]
        values = pa.array([convert(text) for text in texts], pa.string())
        staging.insert(table, pa.table({"text": pa.array(texts, pa.string()), "json": values}))
    connection.execute(
        "INSERT INTO op_inputs BY NAME SELECT i AS event, s.json AS shapes, d.json AS dtypes, "
        "nullif(regexp_replace(stack, ';\\s*', ';', 'g'), '') AS stack, nullif(module, '') AS module, "
        "CASE WHEN sequence >= 0 THEN sequence END AS sequence, nullif(forward_thread, 0) AS forward_thread "
        "FROM ascend_inputs LEFT JOIN ascend_shapes s ON s.text = shapes LEFT JOIN ascend_dtypes d ON d.text = dtypes "
        "WHERE coalesce(s.json, d.json, nullif(stack, ''), nullif(module, '')) IS NOT NULL OR sequence >= 0 ORDER BY i"
    )


def shapes_json(text: str) -> str:
    r"""`32,3,224,224;\r\n64;\r\n` or `[32, 3, 224, 224];\r\n[64];\r\n` as JSON: a list per input."""
    return json.dumps([_shape(item) for item in text.split(";")])


def _shape(item: str) -> list[Any]:
    try:
        value = json.loads("[" + item.strip().strip("[]") + "]")
    except ValueError:
        return []
    return value if all(type(size) is int for size in value) else []


def types_json(text: str) -> str:
    r"""`float;\r\nScalar` as a JSON list; inputs without a value have no type."""
    return json.dumps(["" if item.strip() == "None" else item.strip() for item in text.split(";")])


def _stage_counters(staging: Staging) -> None:
    connection = staging.connection
    connection.execute("CREATE TABLE ascend_series (unit VARCHAR, name VARCHAR, track INTEGER)")
    series = connection.execute("SELECT DISTINCT unit, name FROM ascend_counters ORDER BY 1, 2").fetchall()
    rows = [(unit, name, staging.track("counter", process=unit, thread=name)) for unit, name in series]
    staging.insert_rows("ascend_series", rows)
    connection.execute(
        "INSERT INTO counters SELECT c.ts, s.track, c.name, c.value FROM ascend_counters c JOIN ascend_series s "
        "ON s.unit IS NOT DISTINCT FROM c.unit AND s.name = c.name ORDER BY s.track, c.ts, c.rowid"
    )


def stage_collectives(
    staging: Staging,
    groups: dict[str, str],
    members: dict[str, list[int]],
    sums: dict[str, Sum],
    sizes: Mapping[str, int] = MappingProxyType({}),
) -> None:
    """Fill `collectives`.

    Args:
        staging: The staging area.
        groups: Names of groups by operation, and by the suffix of the name that operations contain.
        members: Ranks of groups by name.
        sums: The profiler's sums by operation.
        sizes: Number of ranks of groups by name, at least, where the ranks are not recorded.
    """
    peers = dict(staging.connection.execute(_PEERS).fetchall())
    rows = staging.connection.execute(
        "SELECT c.i, d.name, c.group_name, c.dtype, c.elements FROM ascend_collectives c "
        "JOIN ascend_device d USING (i) ORDER BY c.i"
    ).fetchall()
    columns: dict[str, list[Any]] = {
        name: []
        for name in ("event", "group", "seq", "collective", "bytes", "dtype", "world_size", "ranks", "transfer_ns")
    }
    numbered = [(name, *operation(name)) for _, name, *_ in rows]
    groups_of = [
        group or groups.get(name) or groups.get(ending or "") or ending or "default"
        for (name, _, ending, _), (_, _, group, *_) in zip(numbered, rows, strict=True)
    ]
    seen = dict(sizes)
    for group, (event, *_) in zip(groups_of, rows, strict=True):
        seen[group] = max(seen.get(group, 0), peers.get(event, 0))
    for group, (name, kind, _, number), (event, _, _, dtype, elements) in zip(groups_of, numbered, rows, strict=True):
        ranks = members.get(group)
        width = ELEMENT_BYTES.get((dtype or "").upper())
        size = elements * width if width and elements is not None and elements < 2**56 else None
        summed = sums.get(name, _NO_SUM)
        if size is None and summed.sent:
            factor = bus_factor(kind, len(ranks or ()))
            size = round(summed.sent / factor) if factor else None
        world = len(ranks) if ranks else seen[group] or None
        values = (event, group, number, kind, size, dtype, world, ranks, summed.moving)
        for column, value in zip(columns.values(), values, strict=True):
            column.append(value)
    types = (
        pa.int64(), pa.string(), pa.int64(), pa.string(), pa.int64(), pa.string(), pa.int32(), pa.list_(pa.int32()),
        pa.int64(),
    )  # fmt: skip
    arrays = [pa.array(values, kind) for values, kind in zip(columns.values(), types, strict=True)]
    staging.insert("collectives", pa.Table.from_arrays(arrays, names=list(columns)))
    # Numbers that occur twice in a group can't be matched across ranks.
    staging.connection.execute(
        'UPDATE collectives SET seq = NULL WHERE "group" IN (SELECT "group" FROM collectives '
        'GROUP BY "group" HAVING count(DISTINCT seq) < count(*))'
    )
