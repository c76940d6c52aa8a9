"""SQL that parses the text of events into columns."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from stepscope.readers.kineto.chunk_buffer import NONE
from stepscope.readers.kineto.launch_flows import LAUNCH_CATEGORIES

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

#: Arguments that any event may have. (Field names of a structure ignore case, JSON keys do not: other spellings of
#: the same key are looked up apart.)
_COMMON: Final = {
    "External id": "UBIGINT",
    "correlation": "UBIGINT",
    "device": "BIGINT",
    "stream": "VARCHAR",
    "sycl queue": "VARCHAR",
    "l0 queue": "VARCHAR",
    "Collective name": "VARCHAR",
}


def _signed(value: str) -> str:
    """SQL that converts an unsigned id to a signed column; the last 2^32 values are negative and stand for none."""
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

#: Below 2^43 µs a double resolves less than one ns, so that rounding µs × 1000 gives the exact ns.
_EXACT_BELOW: Final = 2**43 * 1000

#: The segments that are no events, and whether they are JSON.
ODD: Final = """
SELECT i, is_json FROM (SELECT i, text, json_valid(text) AS is_json FROM segments)
WHERE NOT CASE WHEN is_json THEN json_exists(text, '$.ph') ELSE false END ORDER BY i
"""

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

_IS_SPAN: Final = "ts IS NOT NULL AND (ph = 'X' OR (ph IN ('i', 'I') AND name <> '[memory]'))"
#: Categories of traces so old that they write "external id" in lower case.
_OLD_CATEGORIES: Final = "('Runtime', 'Kernel', 'Memcpy', 'Memset')"

#: Times beyond this are no times; it also keeps the conversion from overflowing.
LIMIT_US: Final = "9.2e15"


def structure(fields: dict[str, object]) -> str:
    """A structure for `json_transform`, as an SQL string."""
    return "'" + json.dumps(fields).replace("'", "''") + "'"


#: Flows of launches are not parsed. Those that the framer did not find are recognised by their text: no arguments, a
#: category of flows, no duration.
IS_LAUNCH_FLOW: Final = (
    "(flow OR (flat AND ("
    + " OR ".join(f"contains(text, '\"{cat}\"')" for cat in LAUNCH_CATEGORIES)
    + ") AND NOT contains(text, '\"dur\"')))"
)


#: The arguments of an event as text where they are not known from its text already.
_FOUND_ARGS: Final = "CASE WHEN known_args IS NULL AND NOT flat THEN json_extract(text, '$.args')::VARCHAR END"

#: The process and thread of an event as recorded: numbers in most traces, texts in some.
WHERE_COLUMNS: Final = ("pid", "pid_text", "tid", "tid_text")
PROCESS: Final = "coalesce(pid::VARCHAR, pid_text, '')"
THREAD: Final = "coalesce(tid::VARCHAR, tid_text, '')"


#: The columns of `chunk_buffer.Parsed`.
PARSED: Final = f"i, phase, is_span, coalesce(ts, {NONE}) AS ts, coalesce(dur, {NONE}) AS dur"


def parse_sql(source: str, *, exact: bool) -> str:
    """A query for a row per event of `source` except launch flows; `key` is common to both ends of a flow.

    It fails if a text is not JSON.

    Args:
        source: A relation with columns `i`, `text`, `flat`, `flow` and `args`.
        exact: Read start times digit by digit instead of through doubles.
    """
    return f"""
    SELECT {PARSED}, ph, cat, name, key, {PROCESS} AS process, {THREAD} AS thread, args
    FROM ({columns_sql(source, exact=exact)})
    """


def is_inexact(ts: NDArray[np.int64]) -> bool:
    """Whether a double may not represent start times in ns exactly; whole microseconds are exact up to 2^53."""
    known = ts[ts != NONE]
    return bool(known.size and (known % 1000).any() and max(-int(known.min()), int(known.max())) >= _EXACT_BELOW)


_EXTERNAL_ID: Final = 'e.args."External id"'
#: Columns over the text of an event and the structure `e` that was parsed from it.
_COLUMNS: Final = {
    "i": "i",
    "ph": "e.ph",
    "phase": "(CASE WHEN strlen(e.ph) = 1 THEN ascii(e.ph) ELSE 0 END)::UTINYINT",
    "cat": "coalesce(e.cat, '')",
    "name": "coalesce(e.name, '')",
    "name_key": "hash(e.cat, e.name)",
    "key": "CASE WHEN e.ph IN ('s', 't', 'f') THEN json_extract_string(text, '$.id') END",
    "pid": "e.pid",
    "pid_text": "CASE WHEN e.pid IS NULL THEN json_extract_string(text, '$.pid') END",
    "tid": "e.tid",
    "tid_text": "CASE WHEN e.tid IS NULL THEN json_extract_string(text, '$.tid') END",
    "dur": f"CASE WHEN isfinite(e.dur) THEN CAST(round(least(greatest(e.dur, -1), {LIMIT_US}) * 1000) AS BIGINT) END",
    "known_args": "known_args",
    "found_args": _FOUND_ARGS,
    "correlation": _signed("e.args.correlation"),
    "external_id": (
        f"CASE WHEN {_EXTERNAL_ID} IS NULL AND cat IN {_OLD_CATEGORIES} THEN "
        "try_cast(json_extract_string(text, '$.args.\"external id\"') AS BIGINT) "
        f"ELSE {_signed(_EXTERNAL_ID)} END"
    ),
    "device": "e.args.device",
    "collective": 'e.args."Collective name"',
    "stream": 'coalesce(e.args.stream, e.args."sycl queue", e.args."l0 queue")',
    "shapes": (
        "CASE WHEN e.args.\"Input Dims\" IS NULL AND cat = 'Operator' THEN "
        'json_extract(text, \'$.args."Input dims"\') ELSE e.args."Input Dims" END'
    ),
    "dtypes": 'e.args."Input type"',
    "strides": 'e.args."Input Strides"',
    "concrete": 'e.args."Concrete Inputs"',
    "stack": "nullif(e.args.\"Call stack\", '')",
    "module": "nullif(e.args.\"Module Hierarchy\", '')",
    "sequence": 'e.args."Sequence number"',
    "forward_thread": 'e.args."Fwd thread id"',
}
#: Those that others are made of.
_ALWAYS: Final = ("ph", "cat", "name", "known_args", "found_args")


def columns_sql(source: str, *, exact: bool, columns: Sequence[str] = tuple(_COLUMNS)) -> str:
    """A query for columns of each event, with `ts`, `is_span` and `args`; see `parse_sql`.

    A statement takes longer to plan with each column, whether or not it is used.
    """
    listed = ", ".join(f"{sql} AS {name}" for name, sql in _COLUMNS.items() if name in columns or name in _ALWAYS)
    return f"""
    SELECT *, coalesce({_IS_SPAN}, false) AS is_span, coalesce(known_args, found_args) AS args
    FROM (
        SELECT {listed},
            CASE WHEN isfinite(e.ts) AND abs(e.ts) < {LIMIT_US} THEN {_EXACT_TS if exact else FAST_TS} END AS ts
        FROM (
            SELECT i, text, flat, args AS known_args, json_transform(text, {structure(dict(_EVENT))}) AS e
            FROM {source} WHERE NOT ({IS_LAUNCH_FLOW})
        )
    )
    """


def metadata_sql(source: str) -> str:
    """A query for rows (name, process, thread, arguments) of metadata events."""
    return f"""
    SELECT name, {PROCESS}, {THREAD}, args::VARCHAR FROM ({columns_sql(source, exact=False)})
    WHERE args IS NOT NULL ORDER BY i
    """
