"""The SQL that turns the columns of events into staged rows."""

from __future__ import annotations

from typing import Final

from stepscope.readers.kineto.parsing import (
    ARGS_TEXT,
    FAST_TS,
    IS_LAUNCH_ARROW,
    LIMIT_US,
    PROCESS,
    THREAD,
    columns_sql,
    events_sql,
    structure,
)

#: What is known of names and tracks from earlier chunks.
TABLES: Final = (
    "CREATE TABLE kineto_names (name_key UBIGINT, name VARCHAR, name_id INTEGER, category VARCHAR, is_work BOOLEAN, "
    "kind VARCHAR, has_details BOOLEAN)",
    "CREATE TABLE kineto_tracks (track_key UBIGINT, track INTEGER)",
    'CREATE TABLE kineto_collectives (event BIGINT, on_device BOOLEAN, collective VARCHAR, "group" VARCHAR, '
    "ranks VARCHAR, size INTEGER, elements_in BIGINT, elements_out BIGINT, dtype VARCHAR, seq BIGINT)",
    "CREATE TABLE kineto_flows (kind VARCHAR, key VARCHAR, is_source BOOLEAN, ts BIGINT, pid VARCHAR, tid VARCHAR)",
    "CREATE TABLE kineto_counters (ts BIGINT, pid VARCHAR, name VARCHAR, series VARCHAR, value DOUBLE)",
    "CREATE TABLE kineto_ends (i BIGINT, ph VARCHAR, ts BIGINT, pid VARCHAR, tid VARCHAR, cat VARCHAR, name VARCHAR)",
)


def parse_sql(source: str, *, exact: bool) -> str:
    """Table `parsed` as `parsing.parse_sql` makes it, with what earlier chunks tell of each event's name and track.

    Where the name is known, it is not copied, nor are arguments that nobody looks at here: they are the widest columns.
    """
    return f"""
    CREATE OR REPLACE TEMP TABLE parsed AS
    SELECT p.* REPLACE (
            CASE WHEN n.name_key IS NULL OR NOT is_span THEN p.name END AS name,
            CASE WHEN n.name_key IS NULL OR n.has_details OR NOT is_span THEN args END AS args),
        n.name_id, n.category, n.is_work, n.kind, n.has_details, t.track
    FROM ({columns_sql(source, exact=exact)}) p
    LEFT JOIN kineto_names n ON n.name_key = p.name_key LEFT JOIN kineto_tracks t ON t.track_key = p.track_key
    """


#: Whether the chunk has names or tracks that no chunk had when it was parsed.
UNKNOWN: Final = (
    "SELECT count(*) FILTER (WHERE is_span AND name_id IS NULL), "
    "count(*) FILTER (WHERE track IS NULL AND (is_span OR ph IN ('i', 'I'))) FROM parsed"
)

#: New (category, name) pairs, to be given a meaning.
NEW_NAMES: Final = """
SELECT name_key, any_value(cat), any_value(name) FROM parsed ANTI JOIN kineto_names USING (name_key)
WHERE is_span AND name_id IS NULL GROUP BY name_key ORDER BY 2, 3
"""
FILL_NAMES: Final = """
UPDATE parsed SET name_id = n.name_id, category = n.category, is_work = n.is_work, kind = n.kind,
    has_details = n.has_details
FROM kineto_names n WHERE parsed.name_id IS NULL AND parsed.name_key = n.name_key AND is_span
"""

#: New tracks of intervals and of allocations: a queue of a device, or a thread of a process.
NEW_TRACKS: Final = f"""
SELECT track_key, on_device, process, thread, device, coalesce(stream, regexp_replace(thread, '^stream\\s+', ''))
FROM (
    SELECT track_key, first(on_device ORDER BY i) AS on_device, first({PROCESS} ORDER BY i) AS process,
        first({THREAD} ORDER BY i) AS thread, first(device ORDER BY i) AS device, first(stream ORDER BY i) AS stream,
        min(i) AS i
    FROM parsed ANTI JOIN kineto_tracks USING (track_key)
    WHERE track IS NULL AND (is_span OR (ph IN ('i', 'I') AND name = '[memory]')) GROUP BY 1
)
ORDER BY i
"""
FILL_TRACKS: Final = (
    "UPDATE parsed SET track = t.track FROM kineto_tracks t "
    "WHERE parsed.track IS NULL AND parsed.track_key = t.track_key"
)

#: Instants count as events without a duration.
EVENTS: Final = """
INSERT INTO raw_events
SELECT i, ts, CASE WHEN ph = 'X' THEN dur END, track, name_id, category, correlation, external_id
FROM parsed WHERE is_span
"""


def args_sql(source: str, *, all_rows: bool) -> str:
    """The arguments of intervals, from their text.

    Args:
        source: As in `parse_sql`.
        all_rows: Whether nothing but intervals has arguments, so that there is no need to look which have.
    """
    chosen = "" if all_rows else "SEMI JOIN (SELECT i FROM parsed WHERE is_span OR ph = 'B') USING (i)"
    return (
        f"SELECT i AS id, args FROM (SELECT i, {ARGS_TEXT} AS args FROM {events_sql(source)}) {chosen} "
        "WHERE args NOT IN ('{}', 'null')"
    )


_WORK_ARGS: Final = {
    "grid": ["INTEGER"],
    "block": ["INTEGER"],
    "registers per thread": "INTEGER",
    "shared memory": "BIGINT",
    "est. achieved occupancy %": "DOUBLE",
    "graph id": "BIGINT",
    "graph node id": "BIGINT",
    "bytes": "BIGINT",
    "size": "BIGINT",
    "direction": "VARCHAR",
    "kind": "VARCHAR",
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

#: Device work, and the host operators that describe collectives, with their arguments.
WORK: Final = f"""
CREATE OR REPLACE TEMP TABLE work AS
SELECT i, CASE WHEN p.kind IN ('copy', 'set') THEN n.name END AS name, p.is_work, p.kind, correlation, args,
    json_transform(args, {structure(dict(_WORK_ARGS))}) AS a
FROM parsed p JOIN kineto_names n USING (name_key) WHERE is_span AND p.has_details
"""

KERNELS: Final = """
INSERT INTO raw_kernels (event, kind, grid, block, registers, shared_bytes, occupancy, in_graph)
SELECT i, CASE WHEN kind IS NULL AND a."Collective name" IS NOT NULL THEN 'comm' ELSE kind END,
    a.grid, a.block, a."registers per thread", a."shared memory",
    CASE WHEN isfinite(a."est. achieved occupancy %") THEN a."est. achieved occupancy %" / 100 END,
    CASE WHEN coalesce(a."graph node id", a."graph id", 0) > 0 THEN true END
FROM work WHERE is_work
"""


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
    CASE WHEN kind = 'set' THEN 'set' WHEN spelled <> '' THEN spelled
         WHEN a.direction ILIKE '%HOST_TO_DEVICE%' THEN 'HtoD' WHEN a.direction ILIKE '%DEVICE_TO_HOST%' THEN 'DtoH'
         WHEN a.direction ILIKE '%DEVICE_TO_DEVICE%' THEN 'DtoD' ELSE 'unknown' END,
    coalesce(a.bytes, a.size), {memory_kind("m.source")}, {memory_kind("m.target")}
FROM (
    SELECT *, regexp_extract(name, '\\((\\w+)\\s*->\\s*(\\w+)\\)', ['source', 'target']) AS m,
        regexp_extract(name || ' ' || coalesce(a.kind, ''), '\\b([HDP]to[HDP])\\b', 1) AS spelled
    FROM work WHERE kind IN ('copy', 'set')
)
"""

COLLECTIVES: Final = """
INSERT INTO kineto_collectives
SELECT i, is_work, a."Collective name", coalesce(a."Process Group Name", a."Process Group ID"), a."Process Group Ranks",
    a."Group size", a."In msg nelems", a."Out msg nelems", a.dtype, coalesce(a.seq, try_cast(args->>'$.Seq' AS BIGINT))
FROM work WHERE a."Collective name" <> 'wait'
"""

INPUTS: Final = """
INSERT INTO op_inputs
SELECT i, shapes, dtypes, strides, concrete, nullif(stack, ''), nullif(module, ''), sequence, nullif(forward_thread, 0)
FROM parsed
WHERE is_span AND category IN ('op', 'dataloader')
    AND (shapes <> '[]' OR dtypes <> '[]' OR stack <> '' OR module <> '' OR sequence IS NOT NULL)
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
INSERT INTO raw_memory
SELECT ts, track, CASE WHEN a."Device Type" = 0 THEN NULL ELSE a."Device Id" END, a."Addr", a."Bytes",
    CASE WHEN a."Total Allocated" >= 0 THEN a."Total Allocated" END,
    CASE WHEN a."Total Reserved" >= 0 THEN a."Total Reserved" END
FROM (
    SELECT *, json_transform(args, {structure(dict(_MEMORY_ARGS))}) AS a FROM parsed
    WHERE NOT is_span AND name = '[memory]' AND ph IN ('i', 'I') AND ts IS NOT NULL
) ORDER BY i
"""


FLOWS: Final = f"""
INSERT INTO kineto_flows
SELECT CASE cat WHEN 'fwdbwd' THEN 'forward_backward' ELSE coalesce(nullif(cat, ''), name) END,
    key, ph = 's', ts, {PROCESS}, {THREAD}
FROM parsed WHERE NOT is_span AND key IS NOT NULL AND ts IS NOT NULL
"""

#: Device work that no correlation id ties to its launch.
UNCORRELATED: Final = "SELECT count(*) FROM work WHERE is_work AND coalesce(correlation, 0) <= 0"

_ARROW: Final = {"ph": "VARCHAR", "id": "VARCHAR", "ts": "DOUBLE", "pid": "VARCHAR", "tid": "VARCHAR"}

#: The arrows of launches, which are read only where device work has no correlation id.
LAUNCH_ARROWS: Final = f"""
INSERT INTO kineto_flows
SELECT 'launch', e.id, e.ph = 's', {FAST_TS}, coalesce(e.pid, ''), coalesce(e.tid, '')
FROM (
    SELECT json_transform(text, {structure(dict(_ARROW))}) AS e
    FROM pieces
    WHERE {IS_LAUNCH_ARROW} AND json_valid(text)
)
WHERE e.ph IN ('s', 'f', 't') AND isfinite(e.ts) AND abs(e.ts) < {LIMIT_US} AND e.id IS NOT NULL
"""

COUNTERS: Final = f"""
INSERT INTO kineto_counters
SELECT ts, {PROCESS}, name, kv.key, try_cast(kv.value AS DOUBLE)
FROM parsed, unnest(
    CASE WHEN json_type(args) = 'OBJECT' THEN map_entries(CAST(args::JSON AS MAP(VARCHAR, VARCHAR))) END
) AS u(kv)
WHERE NOT is_span AND ph = 'C' AND ts IS NOT NULL AND args IS NOT NULL
"""

#: Begin and end events of the Chrome format, to be paired when all are known.
ENDS: Final = f"""
INSERT INTO kineto_ends
SELECT i, ph, ts, {PROCESS}, {THREAD}, cat, name FROM parsed WHERE ph IN ('B', 'E') AND ts IS NOT NULL
"""

#: What is run for every chunk once names and tracks are known, in this order.
STAGING: Final = (EVENTS, WORK, KERNELS, COPIES, COLLECTIVES, INPUTS)

#: What is run besides for chunks with events of a phase.
BY_PHASE: Final = {"i": MEMORY, "I": MEMORY, "s": FLOWS, "t": FLOWS, "f": FLOWS, "C": COUNTERS, "B": ENDS, "E": ENDS}
