"""The SQL that turns the text of events into staged rows."""

from __future__ import annotations

import json
from typing import Final

_EVENT: Final = {
    "ph": "VARCHAR",
    "cat": "VARCHAR",
    "name": "VARCHAR",
    "pid": "VARCHAR",
    "tid": "VARCHAR",
    "ts": "DOUBLE",
    "dur": "DOUBLE",
    "id": "VARCHAR",
    "args": "JSON",
}

#: Arguments that any event may have. (Field names of a structure ignore case, JSON keys do not: other spellings of
#: the same key are looked up apart.)
_COMMON: Final = {
    "External id": "BIGINT",
    "correlation": "BIGINT",
    "device": "VARCHAR",
    "stream": "VARCHAR",
    "sycl queue": "VARCHAR",
    "l0 queue": "VARCHAR",
}

#: 2^43 µs: below it a double resolves less than a nanosecond, so that rounding µs × 1000 gives the exact ns.
EXACT_MICROSECONDS: Final = 2**43

_TS_TEXT: Final = r"""'"ts"\s*:\s*"?(-?[0-9]+(?:\.[0-9]+)?)'"""

#: Nanoseconds from the double that the JSON parser made of `ts`.
_FAST_TS: Final = "CAST(round(e.ts * 1000) AS BIGINT)"
#: The same from the digits in the text, for times that a double can't hold. The text found may belong to an
#: argument called "ts": it is taken only if it is the same number as far as doubles go.
_EXACT_TS: Final = (
    f"CASE WHEN abs(try_cast(regexp_extract(text, {_TS_TEXT}, 1) AS DOUBLE) - e.ts) <= 1 "
    f"THEN CAST(try_cast(regexp_extract(text, {_TS_TEXT}, 1) AS DECIMAL(28, 3)) * 1000 AS BIGINT) ELSE {_FAST_TS} END"
)

#: Times beyond this are no times; it also keeps the conversion from overflowing.
_LIMIT_US: Final = "9.2e15"


def structure(fields: dict[str, object]) -> str:
    """A structure for `json_transform`, as an SQL string."""
    return "'" + json.dumps(fields).replace("'", "''") + "'"


def parse_sql(*, exact: bool) -> str:
    """Table `parsed`, a row per piece of the registered table `pieces(i, text)`; `e` is null where it is not JSON.

    Args:
        exact: Read start times digit by digit instead of through doubles.
    """
    ts = _EXACT_TS if exact else _FAST_TS
    return f"""
    CREATE OR REPLACE TEMP TABLE parsed AS
    SELECT i, e IS NOT NULL AS valid, e.ph AS ph, coalesce(e.cat, '') AS cat, coalesce(e.name, '') AS name,
        coalesce(e.pid, '') AS pid, coalesce(e.tid, '') AS tid, e.ts AS ts_us,
        CASE WHEN isfinite(e.ts) AND abs(e.ts) < {_LIMIT_US} THEN {ts} END AS ts,
        CASE WHEN isfinite(e.dur) THEN CAST(round(least(greatest(e.dur, -1), {_LIMIT_US}) * 1000) AS BIGINT) END AS dur,
        e.id AS key, e.args AS args, coalesce(a."External id", try_cast(e.args->>'$."external id"' AS BIGINT)) AS external_id, a.correlation AS correlation,
        a.device AS device, coalesce(a.stream, a."sycl queue", a."l0 queue") AS stream
    FROM (
        SELECT i, text, e, json_transform(e.args, {structure(dict(_COMMON))}) AS a
        FROM (
            SELECT i, text, CASE WHEN json_valid(text) THEN json_transform(text, {structure(dict(_EVENT))}) END AS e
            FROM pieces
        )
    )
    """


#: New (category, name) pairs, to be given a meaning.
NEW_NAMES: Final = """
SELECT DISTINCT cat, name FROM parsed ANTI JOIN kineto_names USING (cat, name) WHERE valid AND ph IN ('X', 'i', 'I')
"""

_QUEUE: Final = "CASE WHEN m.on_device THEN coalesce(p.device, p.pid) ELSE '' END"
_STREAM: Final = "CASE WHEN m.on_device THEN coalesce(p.stream, regexp_replace(p.tid, '^stream\\s+', '')) ELSE '' END"
_PROCESS: Final = "CASE WHEN m.on_device THEN '' ELSE p.pid END"
_THREAD: Final = "CASE WHEN m.on_device THEN '' ELSE p.tid END"

#: Events with their meaning and what tells their track; instants count as events without a duration.
SPANS: Final = f"""
CREATE OR REPLACE TEMP TABLE spans AS
SELECT p.*, m.name_id, m.category, m.on_device, m.is_work, m.kind,
    {_QUEUE} AS t_device, {_STREAM} AS t_stream, {_PROCESS} AS t_process, {_THREAD} AS t_thread
FROM parsed p JOIN kineto_names m USING (cat, name)
WHERE p.valid AND p.ts IS NOT NULL AND (p.ph = 'X' OR p.ph IN ('i', 'I') AND p.name <> '[memory]')
"""

NEW_TRACKS: Final = """
SELECT DISTINCT on_device, t_process, t_thread, t_device, t_stream FROM {table}
ANTI JOIN kineto_tracks USING (on_device, t_process, t_thread, t_device, t_stream)
"""

EVENTS: Final = """
INSERT INTO raw_events
SELECT i, ts, CASE WHEN ph = 'X' THEN dur END, track, name_id, category, correlation, external_id
FROM spans JOIN kineto_tracks USING (on_device, t_process, t_thread, t_device, t_stream)
"""

ARGS: Final = "SELECT i AS id, args::VARCHAR AS args FROM spans WHERE args IS NOT NULL AND args <> '{}' ORDER BY i"

_KERNEL_ARGS: Final = {
    "grid": ["INTEGER"],
    "block": ["INTEGER"],
    "registers per thread": "INTEGER",
    "shared memory": "BIGINT",
    "est. achieved occupancy %": "DOUBLE",
    "graph id": "BIGINT",
    "graph node id": "BIGINT",
    "Collective name": "VARCHAR",
}

KERNELS: Final = f"""
INSERT INTO raw_kernels
SELECT i, CASE WHEN kind IS NULL AND a."Collective name" IS NOT NULL THEN 'comm' ELSE kind END,
    a.grid, a.block, a."registers per thread", a."shared memory",
    CASE WHEN isfinite(a."est. achieved occupancy %") THEN a."est. achieved occupancy %" / 100 END,
    CASE WHEN coalesce(a."graph node id", a."graph id", 0) > 0 THEN true END
FROM (SELECT *, json_transform(args, {structure(dict(_KERNEL_ARGS))}) AS a FROM spans WHERE is_work)
"""

_COPY_ARGS: Final = {"bytes": "BIGINT", "size": "BIGINT", "direction": "VARCHAR", "kind": "VARCHAR"}


def memory_kind(column: str) -> str:
    """SQL that maps the profiler's word for a kind of memory to the canonical one, null if it does not tell."""
    return (
        f"CASE lower({column}) WHEN 'pageable' THEN 'pageable' WHEN 'pinned' THEN 'pinned' WHEN 'device' THEN 'device' "
        "WHEN 'array' THEN 'device' WHEN 'managed' THEN 'managed' WHEN 'unified' THEN 'managed' END"
    )


#: "Memcpy HtoD (Pinned -> Device)" tells the direction and the kinds of memory.
COPIES: Final = f"""
INSERT INTO copies
SELECT i,
    CASE WHEN kind = 'set' THEN 'set'
         WHEN d.spelled <> '' THEN d.spelled
         WHEN a.direction ILIKE '%HOST_TO_DEVICE%' THEN 'HtoD' WHEN a.direction ILIKE '%DEVICE_TO_HOST%' THEN 'DtoH'
         WHEN a.direction ILIKE '%DEVICE_TO_DEVICE%' THEN 'DtoD'
         ELSE 'unknown' END,
    coalesce(a.bytes, a.size),
    {memory_kind("m.source")}, {memory_kind("m.target")}
FROM (
    SELECT *, json_transform(args, {structure(dict(_COPY_ARGS))}) AS a,
        regexp_extract(name, '\\((\\w+)\\s*->\\s*(\\w+)\\)', ['source', 'target']) AS m,
        {{'spelled': regexp_extract(name || ' ' || coalesce(args->>'$.kind', ''), '\\b([HDP]to[HDP])\\b', 1)}} AS d
    FROM spans WHERE kind IN ('copy', 'set')
)
"""


_COLLECTIVE_ARGS: Final = {
    "Collective name": "VARCHAR",
    "Process Group Name": "VARCHAR",
    "Process Group ID": "VARCHAR",
    "Process Group Ranks": "VARCHAR",
    "Group size": "INTEGER",
    "In msg nelems": "BIGINT",
    "Out msg nelems": "BIGINT",
    "dtype": "VARCHAR",
    "seq": "BIGINT",
}

COLLECTIVES: Final = f"""
INSERT INTO kineto_collectives
SELECT i, on_device, a."Collective name", coalesce(a."Process Group Name", a."Process Group ID"), a."Process Group Ranks",
    a."Group size", a."In msg nelems", a."Out msg nelems", a.dtype, coalesce(a.seq, try_cast(args->>'$.Seq' AS BIGINT))
FROM (
    SELECT i, on_device, args, json_transform(args, {structure(dict(_COLLECTIVE_ARGS))}) AS a FROM spans
    WHERE args IS NOT NULL AND (is_work OR category = 'op') AND contains(args::VARCHAR, '"Collective name"')
)
WHERE a."Collective name" <> 'wait'
"""

_INPUT_ARGS: Final = {
    "Input Dims": "JSON",
    "Input type": "JSON",
    "Input Strides": "JSON",
    "Concrete Inputs": "JSON",
    "Call stack": "VARCHAR",
    "Module Hierarchy": "VARCHAR",
    "Sequence number": "BIGINT",
    "Fwd thread id": "BIGINT",
}

INPUTS: Final = f"""
INSERT INTO op_inputs
SELECT i, coalesce(a."Input Dims", args->'$."Input dims"'), a."Input type", a."Input Strides", a."Concrete Inputs",
    nullif(a."Call stack", ''), nullif(a."Module Hierarchy", ''), a."Sequence number", nullif(a."Fwd thread id", 0)
FROM (
    SELECT i, args, json_transform(args, {structure(dict(_INPUT_ARGS))}) AS a FROM spans
    WHERE category = 'op' AND args IS NOT NULL AND regexp_matches(
        args::VARCHAR, '"(Input [Dd]ims|Call stack|Module Hierarchy|Sequence number|Input type)"')
)
"""

_MEMORY_ARGS: Final = {
    "Device Type": "INTEGER",
    "Device Id": "INTEGER",
    "Addr": "BIGINT",
    "Bytes": "BIGINT",
    "Total Allocated": "BIGINT",
    "Total Reserved": "BIGINT",
}

#: Device type 0 is the host. Totals of -1 or 0 stand for "not known" there.
MEMORY: Final = f"""
CREATE OR REPLACE TEMP TABLE memory_rows AS
SELECT i, ts, false AS on_device, pid AS t_process, tid AS t_thread, '' AS t_device, '' AS t_stream,
    CASE WHEN a."Device Type" = 0 THEN NULL ELSE a."Device Id" END AS device, a."Addr" AS address, a."Bytes" AS bytes,
    CASE WHEN a."Total Allocated" >= 0 THEN a."Total Allocated" END AS allocated,
    CASE WHEN a."Total Reserved" >= 0 THEN a."Total Reserved" END AS reserved
FROM (
    SELECT *, json_transform(args, {structure(dict(_MEMORY_ARGS))}) AS a FROM parsed
    WHERE valid AND name = '[memory]' AND ph IN ('i', 'I') AND ts IS NOT NULL
)
"""

ADD_MEMORY: Final = """
INSERT INTO raw_memory
SELECT ts, track, device, address, bytes, allocated, reserved
FROM memory_rows JOIN kineto_tracks USING (on_device, t_process, t_thread, t_device, t_stream) ORDER BY i
"""

#: Arrows of launches are not kept where correlation ids give the same.
FLOWS: Final = """
INSERT INTO kineto_flows
SELECT CASE WHEN cat ILIKE 'fwd%' THEN 'forward_backward' WHEN cat IN ('ac2g', 'async_cpu_to_gpu', 'async_gpu', 'async')
    THEN 'launch' ELSE coalesce(nullif(cat, ''), name) END, key, ph = 's', ts, pid, tid
FROM parsed WHERE valid AND ph IN ('s', 'f', 't') AND ts IS NOT NULL AND key IS NOT NULL
"""

COUNTERS: Final = """
INSERT INTO kineto_counters
SELECT ts, pid, name, kv.key, try_cast(kv.value AS DOUBLE)
FROM parsed, unnest(CASE WHEN json_type(args) = 'OBJECT' THEN map_entries(CAST(args AS MAP(VARCHAR, VARCHAR))) END) AS u(kv)
WHERE valid AND ph = 'C' AND ts IS NOT NULL AND args IS NOT NULL
"""

METADATA: Final = """
SELECT name, pid, tid, args::VARCHAR FROM parsed WHERE valid AND ph = 'M' AND args IS NOT NULL ORDER BY i
"""

#: Begin and end events of the Chrome format, to be paired when all are known.
ENDS: Final = """
INSERT INTO kineto_ends
SELECT i, ph, ts, pid, tid, cat, name FROM parsed WHERE valid AND ph IN ('B', 'E') AND ts IS NOT NULL
"""
