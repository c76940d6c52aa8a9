"""The SQL that turns the text of events into staged rows."""

from __future__ import annotations

import json
from typing import Final

from stepscope.readers.kineto import names

#: Arguments that any event may have. (Field names of a structure ignore case, JSON keys do not: other spellings of
#: the same key are looked up apart.)
_COMMON: Final = {
    "External id": "UBIGINT",
    "correlation": "UBIGINT",
    "device": "BIGINT",
    "stream": "VARCHAR",
    "sycl queue": "VARCHAR",
    "l0 queue": "VARCHAR",
}


def _signed(value: str) -> str:
    """SQL that fits an unsigned id into a signed column; the last 2^32 are negative numbers, which stand for none."""
    return (
        f"CASE WHEN {value} < 9223372036854775808::UBIGINT THEN CAST({value} AS BIGINT) "
        f"WHEN {value} < 18446744069414584320::UBIGINT THEN CAST({value} - 9223372036854775807::UBIGINT AS BIGINT) END"
    )


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

_EVENT: Final = {
    "ph": "VARCHAR",
    "cat": "VARCHAR",
    "name": "VARCHAR",
    "pid": "BIGINT",
    "tid": "BIGINT",
    "ts": "DOUBLE",
    "dur": "DOUBLE",
    "args": {**_COMMON, **_INPUT_ARGS},
}

#: 2^43 µs: below it a double resolves less than a nanosecond, so that rounding µs × 1000 gives the exact ns.
EXACT_MICROSECONDS: Final = 2**43

_TS_TEXT: Final = r"""'"ts"\s*:\s*"?(-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)'"""

#: Nanoseconds from the double that the JSON parser made of `ts`.
#: Whole microseconds and the rest apart, since a product of a thousand may have more digits than a double.
_FAST_TS: Final = "CAST(floor(e.ts) AS BIGINT) * 1000 + CAST(round((e.ts - floor(e.ts)) * 1000) AS BIGINT)"
#: The same from the digits in the text, for times that a double can't hold. What is found there may belong to an
#: argument called "ts": it is taken only if it is the same number as far as doubles go.
_IS_TS: Final = "abs(try_cast({found} AS DOUBLE) - e.ts) <= 1"
_FIRST_TS: Final = f"regexp_extract(text, {_TS_TEXT}, 1)"
_LATER_TS: Final = (
    f"list_filter(regexp_extract_all(text, {_TS_TEXT}, 1), lambda found: {_IS_TS.format(found='found')})[-1]"
)
_EXACT_TS: Final = (
    f"coalesce(CAST(try_cast(CASE WHEN {_IS_TS.format(found=_FIRST_TS)} THEN {_FIRST_TS} ELSE {_LATER_TS} END "
    f"AS DECIMAL(28, 3)) * 1000 AS BIGINT), {_FAST_TS})"
)

_ON_DEVICE: Final = (
    "lower(cat) IN ("
    + ", ".join(f"'{cat}'" for cat in sorted(names.ON_DEVICE))
    + ") OR cat ILIKE 'privateuse1_kernel%'"
)

_IS_SPAN: Final = "ts IS NOT NULL AND (ph = 'X' OR (ph IN ('i', 'I') AND name <> '[memory]'))"
#: Categories of traces so old that they write "external id" in lower case.
_OLD_CATEGORIES: Final = "('Runtime', 'Kernel', 'Memcpy', 'Memset')"

#: Times beyond this are no times; it also keeps the conversion from overflowing.
_LIMIT_US: Final = "9.2e15"


def structure(fields: dict[str, object]) -> str:
    """A structure for `json_transform`, as an SQL string."""
    return "'" + json.dumps(fields).replace("'", "''") + "'"


#: Arrows from launches to device work are two of five events in a trace and say what correlation ids say, too. They
#: are told by their text, so that they need not be parsed: no arguments, of a category of arrows, and no duration.
_LAUNCH_CATEGORIES: Final = ("ac2g", "async_cpu_to_gpu", "async_gpu", "async")
_IS_LAUNCH_ARROW: Final = (
    "flat AND ("
    + " OR ".join(f"contains(text, '\"{cat}\"')" for cat in _LAUNCH_CATEGORIES)
    + ") AND NOT contains(text, '\"dur\"')"
)


def parse_sql(source: str, *, exact: bool) -> str:
    """Table `parsed`: a row per event of `source`, but for launch arrows.

    The statement fails if a text is not JSON.

    Args:
        source: A table or a parenthesised query with columns `i`, `text`, `flat` and `args`.
        exact: Read start times digit by digit instead of through doubles.
    """
    ts = _EXACT_TS if exact else _FAST_TS
    return f"""
    CREATE OR REPLACE TEMP TABLE parsed AS
    SELECT * EXCLUDE (external), {_IS_SPAN} AS is_span,
        CASE WHEN on_device THEN hash(true, pid, pid_text, tid, tid_text, device, stream)
            ELSE hash(false, pid, pid_text, tid, tid_text) END AS track_key,
        CASE WHEN external IS NULL AND cat IN {_OLD_CATEGORIES}
            THEN try_cast(args->>'$."external id"' AS BIGINT) ELSE external END AS external_id
    FROM (
        SELECT i, e.ph AS ph, coalesce(e.cat, '') AS cat, coalesce(e.name, '') AS name, hash(e.cat, e.name) AS name_key,
            {_ON_DEVICE} AS on_device,
            CASE WHEN e.ph IN ('s', 't', 'f') THEN json_extract_string(text, '$.id') END AS key,
            e.pid AS pid, CASE WHEN e.pid IS NULL THEN json_extract_string(text, '$.pid') END AS pid_text,
            e.tid AS tid, CASE WHEN e.tid IS NULL THEN json_extract_string(text, '$.tid') END AS tid_text,
            e.ts AS ts_us, CASE WHEN isfinite(e.ts) AND abs(e.ts) < {_LIMIT_US} THEN {ts} END AS ts,
            CASE WHEN isfinite(e.dur)
                THEN CAST(round(least(greatest(e.dur, -1), {_LIMIT_US}) * 1000) AS BIGINT) END AS dur,
            CASE WHEN args IS NOT NULL THEN args WHEN NOT flat THEN json_extract(text, '$.args')::VARCHAR END AS args,
            {_signed("e.args.correlation")} AS correlation, {_signed('e.args."External id"')} AS external,
            e.args.device AS device,
            coalesce(e.args.stream, e.args."sycl queue", e.args."l0 queue") AS stream,
            e.args."Input Dims" AS shapes, e.args."Input type" AS dtypes, e.args."Input Strides" AS strides,
            e.args."Concrete Inputs" AS concrete, e.args."Call stack" AS stack, e.args."Module Hierarchy" AS module,
            e.args."Sequence number" AS sequence, e.args."Fwd thread id" AS forward_thread
        FROM (
            SELECT i, text, flat, args, json_transform(text, {structure(dict(_EVENT))}) AS e FROM {source}
            WHERE NOT ({_IS_LAUNCH_ARROW})
        )
    )
    """


#: The process and thread of an event as recorded: numbers in most traces, texts in some.
PROCESS: Final = "coalesce(pid::VARCHAR, pid_text, '')"
THREAD: Final = "coalesce(tid::VARCHAR, tid_text, '')"

#: New (category, name) pairs, to be given a meaning.
NEW_NAMES: Final = """
SELECT name_key, any_value(cat), any_value(name) FROM parsed ANTI JOIN kineto_names USING (name_key)
WHERE is_span GROUP BY name_key ORDER BY 2, 3
"""

#: New tracks of intervals and of allocations: a queue of a device, or a thread of a process.
NEW_TRACKS: Final = f"""
SELECT track_key, on_device, process, thread, device, coalesce(stream, regexp_replace(thread, '^stream\\s+', ''))
FROM (
    SELECT track_key, first(on_device ORDER BY i) AS on_device, first({PROCESS} ORDER BY i) AS process,
        first({THREAD} ORDER BY i) AS thread, first(device ORDER BY i) AS device, first(stream ORDER BY i) AS stream,
        min(i) AS i
    FROM parsed ANTI JOIN kineto_tracks USING (track_key)
    WHERE is_span OR (ph IN ('i', 'I') AND name = '[memory]') GROUP BY 1
)
ORDER BY i
"""

#: Instants count as events without a duration.
EVENTS: Final = """
INSERT INTO raw_events
SELECT i, ts, CASE WHEN ph = 'X' THEN dur END, track, name_id, category, correlation, external_id
FROM parsed JOIN kineto_names USING (name_key) JOIN kineto_tracks USING (track_key)
WHERE is_span
"""

ARGS: Final = (
    "SELECT i AS id, args::VARCHAR AS args FROM parsed WHERE (is_span OR ph = 'B') AND args NOT IN ('{}', 'null')"
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
SELECT i, name, is_work, kind, correlation, args, json_transform(args, {structure(dict(_WORK_ARGS))}) AS a
FROM (
    SELECT p.i, p.name, is_work, kind, correlation, args
    FROM (SELECT * FROM parsed WHERE is_span AND (on_device OR name = 'record_param_comms')) p
    JOIN kineto_names USING (name_key) WHERE is_work OR NOT on_device
)
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
FROM (
    SELECT * REPLACE (
        CASE WHEN shapes IS NULL AND cat = 'Operator' THEN args->'$."Input dims"' ELSE shapes END AS shapes)
    FROM parsed JOIN kineto_names USING (name_key) WHERE is_span AND category IN ('op', 'dataloader')
)
WHERE shapes <> '[]' OR dtypes <> '[]' OR stack <> '' OR module <> '' OR sequence IS NOT NULL
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
    WHERE ph IN ('i', 'I') AND name = '[memory]' AND ts IS NOT NULL
)
JOIN kineto_tracks USING (track_key) ORDER BY i
"""


FLOWS: Final = f"""
INSERT INTO kineto_flows
SELECT CASE cat WHEN 'fwdbwd' THEN 'forward_backward' ELSE coalesce(nullif(cat, ''), name) END,
    key, ph = 's', ts, {PROCESS}, {THREAD}
FROM parsed WHERE key IS NOT NULL AND ts IS NOT NULL
"""

#: Device work that no correlation id ties to its launch.
UNCORRELATED: Final = "SELECT count(*) FROM work WHERE is_work AND coalesce(correlation, 0) <= 0"

_ARROW: Final = {"ph": "VARCHAR", "id": "VARCHAR", "ts": "DOUBLE", "pid": "VARCHAR", "tid": "VARCHAR"}

#: The arrows of launches, which are read only where device work has no correlation id.
LAUNCH_ARROWS: Final = f"""
INSERT INTO kineto_flows
SELECT 'launch', e.id, e.ph = 's', {_FAST_TS}, coalesce(e.pid, ''), coalesce(e.tid, '')
FROM (
    SELECT json_transform(text, {structure(dict(_ARROW))}) AS e
    FROM pieces
    WHERE {_IS_LAUNCH_ARROW} AND json_valid(text)
)
WHERE e.ph IN ('s', 'f', 't') AND isfinite(e.ts) AND abs(e.ts) < {_LIMIT_US} AND e.id IS NOT NULL
"""

COUNTERS: Final = f"""
INSERT INTO kineto_counters
SELECT ts, {PROCESS}, name, kv.key, try_cast(kv.value AS DOUBLE)
FROM parsed, unnest(
    CASE WHEN json_type(args) = 'OBJECT' THEN map_entries(CAST(args::JSON AS MAP(VARCHAR, VARCHAR))) END
) AS u(kv)
WHERE ph = 'C' AND ts IS NOT NULL AND args IS NOT NULL
"""

METADATA: Final = f"""
SELECT name, {PROCESS}, {THREAD}, args::VARCHAR FROM parsed WHERE ph = 'M' AND args IS NOT NULL ORDER BY i
"""

#: Events that lack something, or are of a kind that nobody reads: asynchronous intervals, objects, samples, dumps.
UNUSED: Final = """
SELECT count(*) FILTER (WHERE ph = 'X' AND ts IS NULL),
    count(*) FILTER (WHERE ph = 'X' AND ts IS NOT NULL AND dur IS NULL),
    count(*) FILTER (WHERE ph NOT IN ('X', 'B', 'E', 'i', 'I', 'M', 'C', 's', 't', 'f'))
FROM parsed
"""

#: Begin and end events of the Chrome format, to be paired when all are known.
ENDS: Final = f"""
INSERT INTO kineto_ends
SELECT i, ph, ts, {PROCESS}, {THREAD}, cat, name FROM parsed WHERE ph IN ('B', 'E') AND ts IS NOT NULL
"""

#: What is run for every chunk once names and tracks are known, in this order.
STAGING: Final = (EVENTS, WORK, KERNELS, COPIES, COLLECTIVES, INPUTS, MEMORY, FLOWS, COUNTERS, ENDS)
