"""The SQL that turns the text of events into columns."""

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
FAST_TS: Final = "CAST(floor(e.ts) AS BIGINT) * 1000 + CAST(round((e.ts - floor(e.ts)) * 1000) AS BIGINT)"
#: The same from the digits in the text, for times that a double can't hold. What is found there may belong to an
#: argument called "ts": it is taken only if it is the same number as far as doubles go.
_IS_TS: Final = "abs(try_cast({found} AS DOUBLE) - e.ts) <= 1"
_FIRST_TS: Final = f"regexp_extract(text, {_TS_TEXT}, 1)"
_LATER_TS: Final = (
    f"list_filter(regexp_extract_all(text, {_TS_TEXT}, 1), lambda found: {_IS_TS.format(found='found')})[-1]"
)
_EXACT_TS: Final = (
    f"coalesce(CAST(try_cast(CASE WHEN {_IS_TS.format(found=_FIRST_TS)} THEN {_FIRST_TS} ELSE {_LATER_TS} END "
    f"AS DECIMAL(28, 3)) * 1000 AS BIGINT), {FAST_TS})"
)

_ON_DEVICE: Final = (
    "lower(cat) IN ("
    + ", ".join(f"'{cat}'" for cat in sorted(names.ON_DEVICE))
    + ") OR cat ILIKE 'privateuse1_kernel%'"
)

_IS_SPAN: Final = "ts IS NOT NULL AND (ph = 'X' OR (ph IN ('i', 'I') AND name <> '[memory]'))"
#: Categories of traces so old that they write "external id" in lower case.
_OLD_CATEGORIES: Final = "('Runtime', 'Kernel', 'Memcpy', 'Memset')"

_HAS_INPUTS: Final = (
    "shapes <> '[]' OR dtypes <> '[]' OR stack IS NOT NULL OR module IS NOT NULL OR sequence IS NOT NULL"
)

#: Times beyond this are no times; it also keeps the conversion from overflowing.
LIMIT_US: Final = "9.2e15"


def structure(fields: dict[str, object]) -> str:
    """A structure for `json_transform`, as an SQL string."""
    return "'" + json.dumps(fields).replace("'", "''") + "'"


#: Arrows from launches to device work are two of five events in a trace and say what correlation ids say, too. They
#: are told by their text, so that they need not be parsed: no arguments, of a category of arrows, and no duration.
_LAUNCH_CATEGORIES: Final = ("ac2g", "async_cpu_to_gpu", "async_gpu", "async")
IS_LAUNCH_ARROW: Final = (
    "flat AND ("
    + " OR ".join(f"contains(text, '\"{cat}\"')" for cat in _LAUNCH_CATEGORIES)
    + ") AND NOT contains(text, '\"dur\"')"
)


#: The arguments of an event as text: those that lie in `args` are used as they are.
ARGS_TEXT: Final = "CASE WHEN args IS NOT NULL THEN args WHEN NOT flat THEN json_extract(text, '$.args')::VARCHAR END"


def parse_sql(source: str, *, exact: bool) -> str:
    """Table `parsed`: a row per event of `source`, but for launch arrows.

    The statement fails if a text is not JSON.

    Args:
        source: A table or a parenthesised query with columns `i`, `text`, `flat` and `args`.
        exact: Read start times digit by digit instead of through doubles.
    """
    return f"CREATE OR REPLACE TEMP TABLE parsed AS {columns_sql(source, exact=exact)}"


def columns_sql(source: str, *, exact: bool) -> str:
    """The query behind `parse_sql`."""
    ts = _EXACT_TS if exact else FAST_TS
    return f"""
    SELECT *, {_IS_SPAN} AS is_span,
        CASE WHEN on_device THEN hash(true, pid, pid_text, tid, tid_text, device, stream)
            ELSE hash(false, pid, pid_text, tid, tid_text) END AS track_key,
        CASE WHEN {_HAS_INPUTS} THEN hash(shapes, dtypes, strides, concrete, stack, module) END AS text_key
    FROM (
        SELECT i, e.ph AS ph, coalesce(e.cat, '') AS cat, coalesce(e.name, '') AS name, hash(e.cat, e.name) AS name_key,
            {_ON_DEVICE} AS on_device,
            CASE WHEN e.ph IN ('s', 't', 'f') THEN json_extract_string(text, '$.id') END AS key,
            e.pid AS pid, CASE WHEN e.pid IS NULL THEN json_extract_string(text, '$.pid') END AS pid_text,
            e.tid AS tid, CASE WHEN e.tid IS NULL THEN json_extract_string(text, '$.tid') END AS tid_text,
            e.ts AS ts_us, CASE WHEN isfinite(e.ts) AND abs(e.ts) < {LIMIT_US} THEN {ts} END AS ts,
            CASE WHEN isfinite(e.dur)
                THEN CAST(round(least(greatest(e.dur, -1), {LIMIT_US}) * 1000) AS BIGINT) END AS dur,
            {ARGS_TEXT} AS args,
            {_signed("e.args.correlation")} AS correlation,
            CASE WHEN e.args."External id" IS NULL AND cat IN {_OLD_CATEGORIES}
                THEN try_cast(json_extract_string(text, '$.args."external id"') AS BIGINT)
                ELSE {_signed('e.args."External id"')} END AS external_id,
            e.args.device AS device,
            coalesce(e.args.stream, e.args."sycl queue", e.args."l0 queue") AS stream,
            CASE WHEN e.args."Input Dims" IS NULL AND cat = 'Operator'
                THEN json_extract(text, '$.args."Input dims"') ELSE e.args."Input Dims" END AS shapes,
            e.args."Input type" AS dtypes, e.args."Input Strides" AS strides,
            e.args."Concrete Inputs" AS concrete, nullif(e.args."Call stack", '') AS stack,
            nullif(e.args."Module Hierarchy", '') AS module,
            e.args."Sequence number" AS sequence, e.args."Fwd thread id" AS forward_thread
        FROM (
            SELECT i, text, flat, args, json_transform(text, {structure(dict(_EVENT))}) AS e
            FROM {source} WHERE NOT ({IS_LAUNCH_ARROW})
        )
    )
    """


#: The process and thread of an event as recorded: numbers in most traces, texts in some.
PROCESS: Final = "coalesce(pid::VARCHAR, pid_text, '')"
THREAD: Final = "coalesce(tid::VARCHAR, tid_text, '')"

#: The rows that are no intervals, and intervals without a duration, by phase.
CENSUS: Final = """
SELECT ph, is_span, count(*), count(args) FROM parsed WHERE NOT is_span OR dur IS NULL GROUP BY ALL
"""

METADATA: Final = f"""
SELECT name, {PROCESS}, {THREAD}, args::VARCHAR FROM parsed WHERE ph = 'M' AND args IS NOT NULL ORDER BY i
"""
