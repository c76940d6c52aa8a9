"""The longest of the events that a row of a table sums up: where the row leads to in the timeline."""

from __future__ import annotations

from typing import Any, Final

from stepscope.analyses.host.modules import MARK
from stepscope.language import said
from stepscope.model.errors import UserError
from stepscope.reports.text import cut, visible
from stepscope.web.tiles.events.briefs import briefs
from stepscope.web.tiles.timeline import Timeline

_WIDTH: Final = 200
#: Events by what the tables call them: most by their own names.
_NAMED: Final = """
SELECT id, ts, coalesce(dur, 0) AS dur, step FROM spans
WHERE name_id IN (SELECT name_id FROM names WHERE name = $name OR name = $marked)
"""
_WORK: Final = "SELECT k.event AS id, k.ts, k.dur, k.step FROM kernels k "
_OPERATORS: Final = """
SELECT s.id, s.ts, w.dur, s.step FROM spans s JOIN names n USING (name_id)
JOIN (SELECT op, sum(dur)::BIGINT AS dur FROM activities WHERE kind <> 'sync' GROUP BY op) w ON w.op = s.id
WHERE n.name = $name
"""
#: Names of others are those of kinds; `$kind` is the name without what follows it in brackets.
_OTHERWISE: Final = {
    "copies": _WORK + "LEFT JOIN copies c USING (event) WHERE k.kind IN ('copy', 'set') "
    "AND coalesce(c.direction, CASE k.kind WHEN 'set' THEN 'set' ELSE 'unknown' END) = $kind",
    "collectives": "SELECT s.id, s.ts, coalesce(s.dur, 0) AS dur, s.step FROM spans s "
    "JOIN collectives c ON c.event = s.id WHERE c.collective = $name",
    # By what these tables sum up: from the launch to the end of the kernel, and the device work of an operator.
    "queue_times": "SELECT event AS id, ts, step, "
    "greatest(launch_ts + coalesce(launch_dur, 0), ts + dur) - launch_ts AS dur "
    "FROM activities WHERE name = $name AND launch_ts IS NOT NULL",
    **dict.fromkeys(("roofline", "roofline_shapes"), _OPERATORS),
    "kernel_classes": _WORK + "WHERE k.op_class = $name",
}
#: Where a recording lacks what is asked for above, an event of the name will do.
_ALSO_NAMED: Final = frozenset({"queue_times", "roofline", "roofline_shapes"})
_CHOICE: Final = """
SELECT id FROM ({events}) WHERE ts < $hi AND ts + dur >= $lo
ORDER BY coalesce(step = $step, false) DESC, coalesce(dur = $dur, false) DESC, dur DESC, ts, id LIMIT 1
"""


def longest(
    timeline: Timeline,
    rank: int,
    table: str,
    name: str,
    *,
    step: int | None = None,
    dur: int | None = None,
    within: tuple[int, int] | None = None,
) -> dict[str, Any]:
    """The event of a name that a table's row is about, as in `briefs`: the longest in the step if there is any there.

    Args:
        timeline: Of the recording.
        rank: Where to look.
        table: Whose row it is; it says what is meant by the name.
        name: As in the table.
        step: Step to prefer.
        dur: Duration to prefer to longer ones, ns.
        within: Range that it must touch, ns on the common axis.

    Raises:
        UserError: There is no such rank, or no such event on it.
    """
    trace, shift = timeline.trace_of(rank), timeline.axis.shift[rank]
    lo, hi = within or (-(1 << 62), 1 << 62)
    values = {
        "name": name, "marked": MARK + name, "kind": name.partition(" (")[0],
        "lo": lo - shift, "hi": hi - shift, "step": step, "dur": dur,
    }  # fmt: skip
    found: list[dict[str, Any]] = []
    for query in (_OTHERWISE.get(table, _NAMED), *((_NAMED,) if table in _ALSO_NAMED else ())):
        asked = {key: value for key, value in values.items() if f"${key}" in query + _CHOICE}
        found = found or trace.rows(_CHOICE.format(events=query), asked)
    if not found:
        called = visible(cut(name, _WIDTH))
        if within:
            raise UserError(said("rank {rank} has no event called {name} in this range", rank=rank, name=called))
        raise UserError(said("rank {rank} has no event called {name}", rank=rank, name=called))
    [row] = found
    return briefs(timeline, rank, [row["id"]])[row["id"]]
