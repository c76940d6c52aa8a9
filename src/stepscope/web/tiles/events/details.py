"""Everything that is recorded of one event, and what it belongs to."""

from __future__ import annotations

import json
from typing import Any, Final

from stepscope.language import said
from stepscope.model.errors import UserError
from stepscope.model.trace import Trace
from stepscope.reports.text import cut, visible
from stepscope.web.tiles.events.briefs import briefs
from stepscope.web.tiles.timeline import Timeline

#: Longer values are cut; a file of the recording has them whole.
_WIDTH: Final = 20_000
_EVENT_SQL: Final = """
SELECT e.id, e.ts, e.name, e.category::VARCHAR AS category, e.depth, e.parent, e.correlation, e.external_id, e.args,
    t.label AS thread
FROM events e LEFT JOIN tracks t USING (track) WHERE e.id = ?
"""
#: Tables with at most a row per event, and what is shown of them.
_BESIDE: Final = {
    "device work": """
SELECT kind, op_class, device, stream, grid, block, registers, shared_bytes, occupancy, dtype, tensor_core, flops,
    bytes, op_type, core FROM kernels WHERE event = ?""",
    "collective": """
SELECT "group", seq, collective, bytes, dtype, world_size, ranks, transfer_ns FROM collectives WHERE event = ?""",
    "copy": "SELECT direction, bytes, src_kind, dst_kind FROM copies WHERE event = ?",
    "inputs": 'SELECT shapes, dtypes, strides, "values", sequence, module FROM op_inputs WHERE event = ?',
}
#: Categories of the host, whose events are no device work, and of devices, whose events have no inputs.
_HOST: Final = frozenset(
    {"step", "annotation", "module", "op", "python", "runtime", "launch", "queue", "gc", "dataloader"}
)
_DEVICE: Final = frozenset({"kernel", "collective", "copy", "set"})
_METRICS_SQL: Final = "SELECT metric, value FROM kernel_metrics WHERE event = ? ORDER BY metric"


def details_of(timeline: Timeline, rank: int, event: int) -> dict[str, Any]:
    """One event: `event` as in `briefs`, its whole `name`, and lists of pairs by topic.

    `facts` has `title` and `rows` of name, value and unit for arguments, device work, inputs and so on; `related` the
    launch, operator, module and what is around the event; `stack` lines of a call stack, innermost first.

    Raises:
        UserError: The rank has no such event.
    """
    trace = timeline.trace_of(rank)
    rows = trace.rows(_EVENT_SQL, [event])
    if not rows:
        raise UserError(said("rank {rank} has no event {event}", rank=rank, event=event))
    [row] = rows
    around = [("inside", one) for one in timeline.around(rank, event)]
    works = row["category"] not in _HOST
    stack, related = _stack(trace, row), [*(_related(trace, event) if works else ()), *around]
    known = briefs(timeline, rank, [event, *(one for _, one in related)])
    return {
        "event": known[event],
        "name": visible(row["name"]),
        "thread": visible(row["thread"] or ""),
        "shift": timeline.axis.shift[rank],
        "facts": [one for one in (_arguments(row), *_beside(trace, row), _ids(row)) if one["rows"]],
        "related": [{"what": what, **known[one]} for what, one in related if one in known],
        "stack": [visible(line) for line in stack],
    }


def _arguments(row: dict[str, Any]) -> dict[str, Any]:
    try:
        found = json.loads(row["args"] or "{}")
    except ValueError:
        found = {"arguments as recorded": row["args"]}
    return {"title": "arguments", "rows": [_row(str(name), value) for name, value in found.items()]}


def _beside(trace: Trace, event_row: dict[str, Any]) -> list[dict[str, Any]]:
    found, event, category = [], event_row["id"], event_row["category"]
    for title, query in _BESIDE.items():
        if category in (_DEVICE if title == "inputs" else _HOST):
            continue
        for row in trace.rows(query, [event])[:1]:
            found.append({"title": title, "rows": [_row(name, value) for name, value in row.items() if _said(value)]})
    if category in _HOST:
        return found
    metrics = [_row(row["metric"], row["value"]) for row in trace.rows(_METRICS_SQL, [event])]
    return [*found, {"title": "counters of the device", "rows": metrics}]


def _ids(row: dict[str, Any]) -> dict[str, Any]:
    names = ("id", "parent", "depth", "correlation", "external_id")
    return {"title": "in the recording", "rows": [_row(name, row[name]) for name in names if row[name] is not None]}


def _said(value: object) -> bool:
    return value is not None and value != "" and value != []


def _row(name: str, value: object) -> list[Any]:
    """Name, value and unit; texts and lists as text."""
    unit = next(
        (unit for ending, unit in (("_ns", "ns"), ("bytes", "bytes"), ("flops", "FLOP")) if name.endswith(ending)), ""
    )
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return [visible(name), value, unit]
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return [visible(name), visible(cut(text, _WIDTH)), ""]


def _stack(trace: Trace, row: dict[str, Any]) -> list[str]:
    """The recorded call stack of an operator."""
    if row["category"] in _DEVICE:
        return []
    text = trace.scalar("SELECT stack FROM op_inputs WHERE event = ?", [row["id"]])
    return [] if not text else str(text).split(";")


def _related(trace: Trace, event: int) -> list[tuple[str, int]]:
    """What it is to the event, and which event that is."""
    found: list[tuple[str, int]] = []
    for row in trace.rows("SELECT launch, op, module, graph FROM kernels WHERE event = ?", [event]):
        found += [(name, row[name]) for name in ("launch", "op", "module", "graph") if row[name] is not None]
    return [("operator" if what == "op" else what, one) for what, one in found]
