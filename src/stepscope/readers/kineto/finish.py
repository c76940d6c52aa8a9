"""Stage what depends on all events of a trace."""

from __future__ import annotations

import json
from typing import Any, Final

import pyarrow as pa

from stepscope.readers.kineto.metadata import recorded_name
from stepscope.readers.kineto.others import add_others
from stepscope.readers.kineto.pairs import add_pairs
from stepscope.store.staging import Staging

#: Bytes per element; types are spelled as in C++, in Python or by the collective library.
_SIZES: Final = {
    "byte": 1, "char": 1, "bool": 1, "int8": 1, "uint8": 1, "float8_e4m3fn": 1, "float8_e5m2": 1, "float8_e4m3fnuz": 1,
    "float8_e5m2fnuz": 1, "half": 2, "bfloat16": 2, "float16": 2, "short": 2, "int16": 2, "int": 4, "int32": 4,
    "float": 4, "float32": 4, "long": 8, "int64": 8, "double": 8, "float64": 8, "complexfloat": 8, "complexdouble": 16,
}  # fmt: skip

_COLLECTIVES: Final = {
    "allreduce": "all_reduce", "allgather": "all_gather", "reducescatter": "reduce_scatter", "alltoall": "all_to_all",
    "broadcast": "broadcast", "send": "send", "recv": "recv", "reduce": "reduce", "gather": "gather",
    "scatter": "scatter", "barrier": "barrier",
}  # fmt: skip


#: A flow links the launch and the device work that start at its ends; its id is their correlation.
_CORRELATE: Final = """
UPDATE raw_events SET correlation = a.key
FROM (
    SELECT e.id, min(try_cast(f.key AS BIGINT)) AS key
    FROM kineto_flows f
    JOIN raw_events e ON e.ts = f.ts
    JOIN tracks t USING (track)
    WHERE f.kind = 'launch' AND coalesce(e.correlation, 0) <= 0
        AND e.category IN ('launch', 'runtime', 'kernel', 'collective', 'copy', 'set')
        AND (t.process = f.pid AND t.thread = f.tid
            OR t.kind = 'device' AND t.device::VARCHAR = f.pid AND t.stream = regexp_replace(f.tid, '^stream\\s+', ''))
    GROUP BY 1
) a
WHERE a.id = raw_events.id AND a.key IS NOT NULL
"""


#: `hipExtModuleLaunchKernel` takes the global size in threads, and profilers record that as the grid.
_GRIDS_IN_THREADS: Final = """
UPDATE raw_kernels SET grid = list_transform(
    list_zip(raw_kernels.grid, block), lambda axis: ((axis[1]::BIGINT + axis[2] - 1) // axis[2])::INTEGER)
FROM raw_events e JOIN raw_events l ON l.correlation = e.correlation JOIN names n ON n.name_id = l.name_id
WHERE raw_kernels.event = e.id AND n.name = 'hipExtModuleLaunchKernel' AND l.id <> e.id AND e.correlation > 0
    AND len(raw_kernels.grid) = 3 AND len(block) = 3 AND list_min(block) > 0
"""

_DESCRIPTION: Final = {
    "Collective name": "VARCHAR",
    "Process Group Name": "VARCHAR",
    "Process Group ID": "VARCHAR",
    "Process Group Ranks": "VARCHAR",
    "Group size": "INTEGER",
    "In msg nelems": "BIGINT",
    "Out msg nelems": "BIGINT",
    "dtype": "VARCHAR",
    "seq": "BIGINT",
    "Src Rank": "INTEGER",
    "Dst Rank": "INTEGER",
}

#: Collectives are described by their device work, or by the host operator that launched it. (Names of fields ignore
#: case, so that "Seq" is looked up apart.)
_DESCRIBED: Final = f"""
SELECT event, a."Collective name", coalesce(a."Process Group Name", a."Process Group ID"), a."Process Group Ranks",
    a."Group size", a."In msg nelems", a."Out msg nelems", a.dtype, coalesce(a.seq, try_cast(args->>'$.Seq' AS BIGINT)),
    a."Src Rank", a."Dst Rank"
FROM (SELECT *, json_transform(args, '{json.dumps(_DESCRIPTION)}') AS a FROM kineto_described)
WHERE a."Collective name" <> 'wait' ORDER BY event
"""

_SERIES: Final = """
CREATE TEMP TABLE kineto_counters AS
SELECT ts, pid, name, kv.key AS series, try_cast(kv.value AS DOUBLE) AS value
FROM kineto_samples, unnest(
    CASE WHEN json_type(args) = 'OBJECT' THEN map_entries(CAST(args::JSON AS MAP(VARCHAR, VARCHAR))) END
) AS u(kv)
"""

_HAS_GRIDS_SQL: Final = "SELECT count(*) > 0 FROM names WHERE name = 'hipExtModuleLaunchKernel'"


def collective_name(recorded: str) -> str:
    """The canonical name of a collective from any spelling of it (`_allgather_base`, `nccl:all_reduce`, ...)."""
    word = recorded.lower().split(":")[-1].replace("_", "")
    for spelled in ("allreduce", "allgather", "reducescatter", "alltoall", "broadcast", "barrier"):
        if spelled in word:
            return _COLLECTIVES[spelled]
    return next((name for spelled, name in _COLLECTIVES.items() if spelled in word), "other")


def finish(staging: Staging, metadata: list[tuple[str, str, str, str]]) -> str | None:
    """Stage collectives, flows, counters, start-end pairs and names of threads.

    Returns:
        Where operators ran, as far as such profilers tell, if another one than PyTorch's wrote the trace; else None.
    """
    others = add_others(staging, metadata)
    staging.count_rows()
    if staging.may_have("kineto_ends"):
        add_pairs(staging)
    if staging.may_have("raw_kernels") and staging.one(_HAS_GRIDS_SQL) == (True,):
        staging.connection.execute(_GRIDS_IN_THREADS)
    if staging.may_have("kineto_described"):
        _stage_collectives(staging)
    _stage_flows(staging)
    if staging.may_have("kineto_samples"):
        _stage_counters(staging)
    _label_tracks(staging, metadata)
    return others


def _stage_collectives(staging: Staging) -> None:
    rows = staging.connection.execute(_DESCRIBED).fetchall()
    columns: dict[str, list[Any]] = {
        name: [] for name in ("event", "group", "seq", "collective", "bytes", "dtype", "world_size", "ranks", "peer")
    }
    for event, collective, group, ranks, size, elements_in, elements_out, dtype, seq, src, dst in rows:
        width = _SIZES.get((dtype or "").lower().rsplit("::", 1)[-1])
        elements = max(elements_in or 0, elements_out or 0)
        members = _ranks(ranks)
        moved = elements * width if width and elements * width < 2**63 else None
        # A send records where to, a receive where from, as ranks of the job.
        kind = collective_name(collective)
        peer = dst if kind == "send" else src if kind == "recv" else None
        values = (
            event, group or "default", seq, kind, moved, dtype, size or (len(members) if members else None), members,
            peer if peer is not None and peer >= 0 else None,
        )  # fmt: skip
        for name, value in zip(columns, values, strict=True):
            columns[name].append(value)
    types = (
        pa.int64(), pa.string(), pa.int64(), pa.string(), pa.int64(), pa.string(), pa.int32(),
        pa.list_(pa.int32()), pa.int32(),
    )  # fmt: skip
    arrays = [pa.array(values, kind) for values, kind in zip(columns.values(), types, strict=True)]
    staging.insert("collectives", pa.Table.from_arrays(arrays, names=list(columns)))


def _ranks(recorded: str | None) -> list[int] | None:
    """Ranks from text such as `[0, 1, 2]`; None if empty, elided (`[0, 1, ..., 7]`) or unreadable."""
    try:
        value = json.loads(recorded or "")
    except ValueError:
        return None
    if isinstance(value, list) and value and all(type(r) is int and abs(r) < 2**31 for r in value):
        return value
    return None


def _stage_flows(staging: Staging) -> None:
    """Stage flows; where device work has no correlation id, its launch flow gives one."""
    staging.write_tracks()
    connection = staging.connection
    if not staging.may_have("kineto_flows"):
        return
    connection.execute(
        "INSERT INTO raw_flows SELECT f.kind, key, is_source, f.ts, track FROM kineto_flows f "
        "JOIN tracks t ON t.kind = 'host' AND t.process = f.pid AND t.thread = f.tid WHERE f.kind <> 'launch'"
    )
    [missing] = staging.one(
        "SELECT count(*) FROM raw_kernels k JOIN raw_events e ON e.id = k.event WHERE coalesce(e.correlation, 0) <= 0"
    )
    if missing:
        connection.execute(_CORRELATE)


def _stage_counters(staging: Staging) -> None:
    connection = staging.connection
    connection.execute(_SERIES)
    found = connection.execute("SELECT DISTINCT pid, name FROM kineto_counters ORDER BY 1, 2").fetchall()
    if found:
        connection.execute("CREATE TEMP TABLE numbered (pid VARCHAR, name VARCHAR, track INTEGER)")
        tracks = [(pid, name, staging.track("counter", process=pid, thread=name)) for pid, name in found]
        staging.insert_rows("numbered", tracks)
        connection.execute(
            "INSERT INTO counters "
            "SELECT ts, track, CASE WHEN series = name THEN name ELSE name || ' ' || series END, value "
            "FROM kineto_counters JOIN numbered USING (pid, name) WHERE isfinite(value) "
            "ORDER BY track, ts, kineto_counters.rowid"
        )


def _label_tracks(staging: Staging, metadata: list[tuple[str, str, str, str]]) -> None:
    """Name threads as the trace does. Names are quoted text in one-field objects: {"name": "..."}."""
    labels = {}
    for kind, pid, tid, args in metadata:
        if kind != "thread_name":
            continue
        if name := recorded_name(args):
            labels[pid, tid] = name
    if labels:
        staging.connection.execute(
            "UPDATE tracks SET label = l.label "
            "FROM (SELECT unnest(?) AS pid, unnest(?) AS tid, unnest(?) AS label) l "
            "WHERE kind = 'host' AND process = pid AND thread = tid",
            [[pid for pid, _ in labels], [tid for _, tid in labels], list(labels.values())],
        )
