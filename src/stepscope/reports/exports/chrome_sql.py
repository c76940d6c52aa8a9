"""SQL that writes rows as the JSON objects of a Chrome trace, a string each."""

from __future__ import annotations

from typing import Final


def json_object(fields: dict[str, str], tail: str = "''") -> str:
    """SQL for the text of a JSON object.

    Args:
        fields: SQL for the JSON text of each value.
        tail: SQL for more text before the closing brace.
    """
    parts = [f"""'{"," if i else "{"}"{key}":' || {value}""" for i, (key, value) in enumerate(fields.items())]
    return " || ".join([*parts, tail, "'}'"])


def text(expression: str) -> str:
    """SQL for a string as JSON text."""
    return f"to_json({expression})::VARCHAR"


def raw(json_text: str) -> str:
    """SQL for JSON text that is known already."""
    return f"'{json_text}'"


def microseconds(expression: str) -> str:
    """SQL for nanoseconds as microseconds with three decimals, exactly."""
    return f"({expression} * 0.001::DECIMAL(4, 3))::DECIMAL(28, 3)::VARCHAR"


#: Times are written $shift ns later than they are.
_TIME: Final = microseconds("(e.ts + $shift)")
_PLACE: Final = {"pid": "p.pid", "tid": "p.tid", "ts": _TIME}

#: Keys that a recording's arguments lack where its format holds the value elsewhere.
_MISSING_KEYS: Final = ", ".join(
    f"""CASE WHEN {column} IS NOT NULL AND (args IS NULL OR (args->>'$."{key}"') IS NULL) """
    f"""THEN '"{key}":' || {column} END"""
    for key, column in (("correlation", "correlation"), ("External id", "external_id"))
)

_MAYBE_DURATION: Final = f"""coalesce(',"dur":' || {microseconds("e.dur")}, '')"""
_MAYBE_ARGS: Final = """CASE WHEN missing = '' AND original = '' THEN '' ELSE ',"args":{' || missing
    || CASE WHEN missing <> '' AND original <> '' THEN ',' ELSE '' END || original || '}' END"""
#: Traces of 2021 name an argument differently, and are recognised by this category.
_CATEGORY: Final = """CASE WHEN c.cat = 'cpu_op' AND contains(args, '"Input dims"') THEN 'Operator' ELSE c.cat END"""
_EVENT: Final = json_object(
    {
        "ph": """CASE WHEN dur IS NULL THEN '"i","s":"t"' ELSE '"X"' END""",
        "cat": text(_CATEGORY),
        "name": text("e.name"),
        **_PLACE,
    },
    tail=f"{_MAYBE_DURATION} || {_MAYBE_ARGS}",
)

_BLANKS: Final = "' \t\r\n'"

#: `original` is what lies between the braces of the recorded arguments.
EVENTS: Final = f"""
SELECT {_EVENT} AS line
FROM (
    SELECT *, coalesce(trim(trim(args, {_BLANKS})[2:-2], {_BLANKS}), '') AS original,
        concat_ws(',', {_MISSING_KEYS}) AS missing
    FROM events
) e
JOIN export_places p ON p.id = e.id
JOIN tracks t ON t.track = e.track
JOIN export_categories c ON c.category = e.category AND c.name = e.name AND c.on_device = (t.kind = 'device')
ORDER BY e.track, e.ts, coalesce(e.dur, -1) DESC, e.depth, e.id
"""

_FLOW_END: Final = json_object(
    {"ph": text("half.ph"), "id": "number", "cat": text("f.kind"), "name": text("f.kind"), **_PLACE}, tail="half.more"
)

#: Two events per flow, numbered from $first on.
FLOWS: Final = f"""
SELECT {_FLOW_END} AS line
FROM (
    SELECT CASE kind WHEN 'launch' THEN 'ac2g' WHEN 'forward_backward' THEN 'fwdbwd' ELSE kind END AS kind,
        source, target, $first + row_number() OVER () AS number
    FROM flows WHERE source IS NOT NULL AND target IS NOT NULL
) f
CROSS JOIN (VALUES ('s', ''), ('f', ',"bp":"e"')) half(ph, more)
JOIN spans e ON e.id = CASE half.ph WHEN 's' THEN f.source ELSE f.target END
JOIN export_places p ON p.id = e.id
ORDER BY number, half.ph DESC
"""

_ALLOCATION: Final = json_object(
    {
        "ph": raw('"i","s":"t"'),
        "cat": raw('"cpu_instant_event"'),
        "name": raw('"[memory]"'),
        "pid": "coalesce(p.pid, $pid)",
        "tid": "coalesce(p.tid, $pid)",
        "ts": _TIME,
        "args": """to_json({
            'Device Type': CASE WHEN device IS NULL THEN 0 ELSE 1 END, 'Device Id': coalesce(device, -1),
            'Addr': address, 'Bytes': bytes, 'Total Allocated': allocated, 'Total Reserved': reserved})::VARCHAR""",
    }
)

#: Allocations, on the thread of their owner, else in the process $pid.
MEMORY: Final = f"""
SELECT {_ALLOCATION} AS line FROM memory e LEFT JOIN export_places p ON p.id = e.owner ORDER BY e.ts
"""

_SAMPLE: Final = json_object(
    {
        "ph": raw('"C"'),
        "name": text("name"),
        "pid": "$pid",
        "tid": "0",
        "ts": _TIME,
        "args": f"'{{' || {text('name')} || ':' || value || '}}'",
    }
)

#: Samples, in the process $pid.
COUNTERS: Final = f"""
SELECT {_SAMPLE} AS line FROM counters e WHERE isfinite(value) ORDER BY track, ts
"""

#: The earliest time of anything that goes out.
EARLIEST: Final = """
SELECT least((SELECT min(ts) FROM spans), (SELECT min(ts) FROM memory), (SELECT min(ts) FROM counters))
"""
