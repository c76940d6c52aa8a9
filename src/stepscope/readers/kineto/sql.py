"""The SQL that turns the columns of events into staged rows."""

from __future__ import annotations

from typing import Final

from stepscope.readers.kineto import names
from stepscope.readers.kineto.parsing import (
    ARGS_TEXT,
    PROCESS,
    THREAD,
    columns_sql,
    structure,
)
from stepscope.readers.kineto.work_sql import COLLECTIVES, COPIES, KERNELS

#: What is known of names and tracks from earlier chunks.
TABLES: Final = (
    "CREATE TABLE kineto_names (name_key UBIGINT, name VARCHAR, name_id INTEGER, category VARCHAR, is_work BOOLEAN, "
    "kind VARCHAR, has_details BOOLEAN, on_device BOOLEAN, spelled VARCHAR, "
    "source VARCHAR, target VARCHAR)",
    "CREATE TABLE kineto_tracks (track_key UBIGINT, track INTEGER)",
    'CREATE TABLE kineto_collectives (event BIGINT, on_device BOOLEAN, collective VARCHAR, "group" VARCHAR, '
    "ranks VARCHAR, size INTEGER, elements_in BIGINT, elements_out BIGINT, dtype VARCHAR, seq BIGINT)",
    "CREATE TABLE kineto_flows (kind VARCHAR, key VARCHAR, is_source BOOLEAN, ts BIGINT, pid VARCHAR, tid VARCHAR)",
    "CREATE TABLE kineto_counters (ts BIGINT, pid VARCHAR, name VARCHAR, series VARCHAR, value DOUBLE)",
    "CREATE TABLE kineto_ends (i BIGINT, ph VARCHAR, ts BIGINT, pid VARCHAR, tid VARCHAR, cat VARCHAR, name VARCHAR)",
)


#: `names.is_on_device` in SQL. (Not with `IN`: DuckDB makes a join of it, through which all columns have to pass.)
_ON_DEVICE: Final = f"regexp_full_match(cat, '(?is)({'|'.join(sorted(names.ON_DEVICE))}|{names.ON_DEVICE_PREFIX}.*)')"

_TEXTS: Final = ("shapes", "dtypes", "strides", "concrete", "stack", "module")
_WITH_INPUTS: Final = "category IN ('op', 'dataloader')"
_TEXT_KEY: Final = (
    f"CASE WHEN coalesce({_WITH_INPUTS}, true) AND (shapes <> '[]' OR dtypes <> '[]' OR stack IS NOT NULL "
    f"OR module IS NOT NULL OR sequence IS NOT NULL) THEN hash({', '.join(_TEXTS)}) END"
)


def parse_sql(source: str, *, exact: bool) -> str:
    """Table `parsed`: a row per event as in `parsing.parse_sql`, with what earlier chunks tell of its texts.

    What else is recorded of the event is read again from its text where it is `fresh`, see `fresh_sql`: that is cheaper
    than to keep the texts of all events. Nor are arguments kept that nobody looks at here.
    """
    return f"""
    CREATE OR REPLACE TEMP TABLE parsed AS
    SELECT i, ph, is_span, ts, dur, correlation, external_id, sequence, forward_thread, name_key, of_track AS track_key,
        of_texts AS text_key, name_id, category, is_work, kind, has_details, track, x.texts,
        CASE WHEN has_details IS DISTINCT FROM false OR NOT is_span THEN args END AS args,
        NOT is_span OR name_id IS NULL OR t.track IS NULL OR (of_texts IS NOT NULL AND x.texts IS NULL) AS fresh
    FROM (
        SELECT *, CASE WHEN on_device THEN hash(true, pid, pid_text, tid, tid_text, device, stream)
            ELSE hash(false, pid, pid_text, tid, tid_text) END AS of_track
        FROM (
            SELECT p.*, n.name_id, n.category, n.is_work, n.kind, n.has_details,
                coalesce(n.on_device, {_ON_DEVICE}) AS on_device, {_TEXT_KEY} AS of_texts
            FROM ({columns_sql(source, exact=exact)}) p LEFT JOIN kineto_names n ON n.name_key = p.name_key
        )
    )
    LEFT JOIN kineto_tracks t ON t.track_key = of_track LEFT JOIN input_texts x ON x.text_key = of_texts
    """


def fresh_sql(source: str) -> str:
    """Table `fresh`: texts of events that are no intervals, or the first with their name, track or inputs."""
    return f"""
    CREATE OR REPLACE TEMP TABLE fresh AS
    SELECT i, cat, name, key, {_ON_DEVICE} AS on_device, {PROCESS} AS process, {THREAD} AS thread, device, stream,
        {", ".join(_TEXTS)}
    FROM ({columns_sql(source, exact=False)})
    """


#: Whether the chunk has names, tracks or inputs that no chunk had when it was parsed.
UNKNOWN: Final = """
SELECT count(*) FILTER (WHERE is_span AND name_id IS NULL),
    count(*) FILTER (WHERE track IS NULL AND (is_span OR ph IN ('i', 'I'))),
    count(*) FILTER (WHERE is_span AND texts IS NULL AND text_key IS NOT NULL)
FROM parsed WHERE fresh
"""

#: New (category, name) pairs, to be given a meaning.
NEW_NAMES: Final = """
SELECT name_key, any_value(cat), any_value(name)
FROM parsed JOIN fresh USING (i) ANTI JOIN kineto_names USING (name_key)
WHERE is_span AND name_id IS NULL GROUP BY name_key ORDER BY 2, 3
"""
FILL_NAMES: Final = """
UPDATE parsed SET name_id = n.name_id, category = n.category, is_work = n.is_work, kind = n.kind,
    has_details = n.has_details
FROM kineto_names n WHERE parsed.name_id IS NULL AND parsed.name_key = n.name_key AND is_span
"""

#: New tracks of intervals and of allocations: a queue of a device, or a thread of a process.
NEW_TRACKS: Final = """
SELECT track_key, on_device, process, thread, device, coalesce(stream, regexp_replace(thread, '^stream\\s+', ''))
FROM (
    SELECT track_key, first(on_device ORDER BY i) AS on_device, first(process ORDER BY i) AS process,
        first(thread ORDER BY i) AS thread, first(device ORDER BY i) AS device, first(stream ORDER BY i) AS stream,
        min(i) AS i
    FROM parsed JOIN fresh USING (i) ANTI JOIN kineto_tracks USING (track_key)
    WHERE track IS NULL AND (is_span OR (ph IN ('i', 'I') AND name = '[memory]')) GROUP BY 1
)
ORDER BY i
"""
FILL_TRACKS: Final = (
    "UPDATE parsed SET track = t.track FROM kineto_tracks t "
    "WHERE parsed.track IS NULL AND parsed.track_key = t.track_key"
)

_HAS_INPUTS: Final = f"is_span AND text_key IS NOT NULL AND {_WITH_INPUTS}"

#: New inputs of operators.
NEW_TEXTS: Final = f"""
INSERT INTO input_texts
SELECT nextval('text_ids'), {", ".join(_TEXTS)}, text_key
FROM (
    SELECT text_key, {", ".join(f"first({name} ORDER BY i) AS {name}" for name in _TEXTS)}
    FROM parsed JOIN fresh USING (i) ANTI JOIN input_texts USING (text_key)
    WHERE {_HAS_INPUTS} AND texts IS NULL GROUP BY text_key
)
"""
FILL_TEXTS: Final = (
    "UPDATE parsed SET texts = x.texts FROM input_texts x WHERE parsed.texts IS NULL AND parsed.text_key = x.text_key"
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
    # The sign keeps DuckDB 1.5 from leaving the filter to Arrow, which can't filter views of texts.
    chosen = "" if all_rows else "SEMI JOIN (SELECT -i AS wanted FROM parsed WHERE is_span OR ph = 'B') ON -i = wanted"
    return (
        f"SELECT i AS id, args FROM (SELECT i, {ARGS_TEXT} AS args FROM {source}) {chosen} "
        "WHERE args NOT IN ('{}', 'null')"
    )


INPUTS: Final = f"""
INSERT INTO input_calls
SELECT i, texts, sequence, nullif(forward_thread, 0) FROM parsed WHERE {_HAS_INPUTS}
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
    SELECT *, json_transform(args, {structure(dict(_MEMORY_ARGS))}) AS a FROM parsed JOIN fresh USING (i)
    WHERE NOT is_span AND name = '[memory]' AND ph IN ('i', 'I') AND ts IS NOT NULL
) ORDER BY i
"""


FLOWS: Final = """
INSERT INTO kineto_flows
SELECT CASE cat WHEN 'fwdbwd' THEN 'forward_backward' ELSE coalesce(nullif(cat, ''), name) END,
    key, ph = 's', ts, process, thread
FROM parsed JOIN fresh USING (i) WHERE NOT is_span AND key IS NOT NULL AND ts IS NOT NULL
"""

COUNTERS: Final = """
INSERT INTO kineto_counters
SELECT ts, process, name, kv.key, try_cast(kv.value AS DOUBLE)
FROM parsed JOIN fresh USING (i), unnest(
    CASE WHEN json_type(args) = 'OBJECT' THEN map_entries(CAST(args::JSON AS MAP(VARCHAR, VARCHAR))) END
) AS u(kv)
WHERE NOT is_span AND ph = 'C' AND ts IS NOT NULL AND args IS NOT NULL
"""

#: Begin and end events of the Chrome format, to be paired when all are known.
ENDS: Final = """
INSERT INTO kineto_ends
SELECT i, ph, ts, process, thread, cat, name FROM parsed JOIN fresh USING (i) WHERE ph IN ('B', 'E') AND ts IS NOT NULL
"""

#: What is run for every chunk once names and tracks are known, in this order.
STAGING: Final = (EVENTS, KERNELS, COPIES, COLLECTIVES, INPUTS)

#: What is run besides for chunks with events of a phase.
BY_PHASE: Final = {"i": MEMORY, "I": MEMORY, "s": FLOWS, "t": FLOWS, "f": FLOWS, "C": COUNTERS, "B": ENDS, "E": ENDS}
