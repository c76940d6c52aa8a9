"""SQL that stages parsed events."""

from __future__ import annotations

from typing import Final

from stepscope.readers.kineto.chunk_buffer import NONE
from stepscope.readers.kineto.parsing import PARSED, PROCESS, THREAD, WHERE_COLUMNS, columns_sql, structure

#: What is staged only when all events are known.
TABLES: Final = (
    'CREATE TABLE kineto_collectives (event BIGINT, on_device BOOLEAN, collective VARCHAR, "group" VARCHAR, '
    "ranks VARCHAR, size INTEGER, elements_in BIGINT, elements_out BIGINT, dtype VARCHAR, seq BIGINT, src INTEGER, "
    "dst INTEGER)",
    "CREATE TABLE kineto_flows (kind VARCHAR, key VARCHAR, is_source BOOLEAN, ts BIGINT, pid VARCHAR, tid VARCHAR)",
    "CREATE TABLE kineto_counters (ts BIGINT, pid VARCHAR, name VARCHAR, series VARCHAR, value DOUBLE)",
    "CREATE TABLE kineto_ends (i BIGINT, ph VARCHAR, ts BIGINT, pid VARCHAR, tid VARCHAR, cat VARCHAR, name VARCHAR)",
)

#: Names here of the texts that operators may be recorded with.
INPUT_TEXTS: Final = ("shapes", "dtypes", "strides", "concrete", "stack", "module")
_OF_TEXTS: Final = ("i", *WHERE_COLUMNS, "device", "stream", *INPUT_TEXTS)

_HAS_INPUTS: Final = (
    "shapes <> '[]' OR dtypes <> '[]' OR stack IS NOT NULL OR module IS NOT NULL OR sequence IS NOT NULL"
)


def parse_sql(source: str, *, exact: bool) -> str:
    """A query for a row per event as in `parsing.parse_sql`, with keys in place of its texts.

    `name_key` stands for category and name, `track_key` for all that tells its track, `text_key` for its inputs as
    an operator (0 for none). What they stand for is read again from one text with the key, see `texts_sql`: that is
    cheaper than to pass on the texts of all events. `found_args` are arguments that the framer did not find.
    """
    return f"""
    SELECT {PARSED}, coalesce(correlation, {NONE}) AS correlation, coalesce(external_id, {NONE}) AS external_id,
        coalesce(sequence, {NONE}) AS sequence, coalesce(nullif(forward_thread, 0), {NONE}) AS forward_thread,
        name_key, hash(pid, pid_text, tid, tid_text, device, stream) AS track_key,
        CASE WHEN {_HAS_INPUTS} THEN hash({", ".join(INPUT_TEXTS)}) ELSE 0::UBIGINT END AS text_key,
        collective IS NOT NULL AS is_collective,
        CASE WHEN found_args NOT IN ('{{}}', 'null') THEN found_args END AS found_args
    FROM ({columns_sql(source, exact=exact)})
    """


def texts_sql(source: str) -> str:
    """A query for the texts of keys, from events that have them."""
    return f"""
    SELECT i, cat, name, {PROCESS} AS process, {THREAD} AS thread, device,
        coalesce(stream, regexp_replace({THREAD}, '^stream\\s+', '')) AS stream, {", ".join(INPUT_TEXTS)}
    FROM ({columns_sql(source, exact=False, columns=_OF_TEXTS)}) ORDER BY i
    """


#: Intervals, and instants as events without a duration; nulls are nulls here.
EVENTS: Final = "INSERT INTO raw_events SELECT * FROM spans"

INPUTS: Final = "INSERT INTO input_calls SELECT * FROM calls"

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
FROM (SELECT ts, track, json_transform(args, {structure(dict(_MEMORY_ARGS))}) AS a FROM allocations)
"""


def flows_sql(source: str, *, exact: bool) -> str:
    """A statement that gathers ends of flows."""
    return f"""
    INSERT INTO kineto_flows
    SELECT CASE cat WHEN 'fwdbwd' THEN 'forward_backward' ELSE coalesce(nullif(cat, ''), name) END,
        key, ph = 's', ts, {PROCESS}, {THREAD}
    FROM ({columns_sql(source, exact=exact, columns=("key", *WHERE_COLUMNS))}) WHERE key IS NOT NULL AND ts IS NOT NULL
    """


def counters_sql(source: str, *, exact: bool) -> str:
    """A statement that gathers samples of counters."""
    return f"""
    INSERT INTO kineto_counters
    SELECT ts, {PROCESS}, name, kv.key, try_cast(kv.value AS DOUBLE)
    FROM ({columns_sql(source, exact=exact, columns=WHERE_COLUMNS)}), unnest(
        CASE WHEN json_type(args) = 'OBJECT' THEN map_entries(CAST(args::JSON AS MAP(VARCHAR, VARCHAR))) END
    ) AS u(kv)
    WHERE ts IS NOT NULL AND args IS NOT NULL
    """


def ends_sql(source: str, *, exact: bool) -> str:
    """Gathers start and end events of the Chrome format, to be paired when all are known."""
    return f"""
    INSERT INTO kineto_ends
    SELECT i, ph, ts, {PROCESS}, {THREAD}, cat, name
    FROM ({columns_sql(source, exact=exact, columns=("i", *WHERE_COLUMNS))}) WHERE ts IS NOT NULL
    """


#: Phases of events that are no intervals, and what is done with these, beside allocations.
BY_PHASE: Final = {"stf": flows_sql, "C": counters_sql, "BE": ends_sql}
