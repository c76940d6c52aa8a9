"""What leads to what: from operators to launches to device work, and from forward to backward."""

from __future__ import annotations

from typing import Any, Final

from stepscope.web.tiles.events.briefs import briefs
from stepscope.web.tiles.timeline import Timeline

#: Flows of one event, and of one range, that are drawn.
MOST: Final = 300
_LAUNCHED: Final = "launch to device"
_OPERATOR: Final = "operator to launch"
_BACKWARD: Final = "forward to backward"
#: (kind, source, target) of all flows; an event may take part in several.
_FLOWS_SQL: Final = f"""
SELECT '{_LAUNCHED}' AS kind, launch AS source, event AS target, launch_ts AS left_at, ts AS entered
FROM activities WHERE launch IS NOT NULL AND launch_ts IS NOT NULL
UNION ALL
SELECT DISTINCT '{_OPERATOR}', op, launch, op_ts, launch_ts FROM (
    SELECT a.op, a.launch, s.ts AS op_ts, a.launch_ts FROM activities a JOIN spans s ON s.id = a.op
    WHERE a.launch IS NOT NULL AND a.launch_ts IS NOT NULL AND a.op <> a.launch)
UNION ALL
SELECT CASE f.kind WHEN 'forward_backward' THEN '{_BACKWARD}' ELSE f.kind END, f.source, f.target, s.ts, t.ts
FROM flows f JOIN spans s ON s.id = f.source JOIN spans t ON t.id = f.target WHERE f.kind <> 'launch'
"""
#: Those of one event, without a look at any other: work that it is, launches, or has launched.
_WORK_SQL: Final = f"""
SELECT event, launch, op FROM activities
WHERE (event = $event OR launch = $event OR op = $event) AND launch IS NOT NULL AND launch_ts IS NOT NULL
ORDER BY launch, event LIMIT {2 * MOST}
"""
_OTHERS_SQL: Final = f"""
SELECT kind, source, target FROM flows WHERE kind <> 'launch' AND (source = $event OR target = $event)
ORDER BY ALL LIMIT {MOST}
"""


def flows_of(timeline: Timeline, rank: int, event: int) -> dict[str, Any]:
    """The flows that leave or enter an event, and those one step further towards operators and device work.

    Returns:
        `flows`, each with `kind`, `source` and `target` as in `briefs`, and their number, `count`.

    Raises:
        UserError: There is no such rank.
    """
    trace = timeline.trace_of(rank)
    found: dict[tuple[str, int, int], None] = {}  # each once, in this order
    for row in trace.rows(_WORK_SQL, {"event": event}):
        launch, op = row["launch"], row["op"]
        # From a kernel to its launch's operator, and from an operator to what its launches started.
        found[_LAUNCHED, launch, row["event"]] = None
        if op is not None and op != launch:
            found[_OPERATOR, op, launch] = None
    for row in trace.rows(_OTHERS_SQL, {"event": event}):
        kind = _BACKWARD if row["kind"] == "forward_backward" else row["kind"]
        found[kind, row["source"], row["target"]] = None
    rows = [{"kind": kind, "source": source, "target": target} for kind, source, target in list(found)[:MOST]]
    return _drawn(timeline, rank, rows)


def flows_within(timeline: Timeline, rank: int, lo: int, hi: int) -> dict[str, Any]:
    """The flows of a rank that leave or enter in [lo, hi) on the common axis; none if there are more than `MOST`.

    Raises:
        UserError: There is no such rank.
    """
    trace, shift = timeline.trace_of(rank), timeline.axis.shift[rank]
    within = f"""
    SELECT DISTINCT kind, source, target FROM ({_FLOWS_SQL})
    WHERE left_at < $hi AND entered < $hi AND (left_at >= $lo OR entered >= $lo) LIMIT {MOST + 1}
    """
    found = trace.rows(within, {"lo": lo - shift, "hi": hi - shift})
    if len(found) > MOST:
        return {"count": len(found), "flows": []}
    return _drawn(timeline, rank, found)


def _drawn(timeline: Timeline, rank: int, rows: list[dict[str, Any]]) -> dict[str, Any]:
    known = briefs(timeline, rank, [row[end] for row in rows for end in ("source", "target")])
    flows = [
        {"kind": row["kind"], "source": known[row["source"]], "target": known[row["target"]]}
        for row in rows
        if row["source"] in known and row["target"] in known
    ]
    return {"count": len(flows), "flows": flows}
