"""Where findings are: the events and stretches that they rest on, with what is there."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from stepscope.reports.text import cut, visible
from stepscope.web.tiles.timeline import Timeline

#: Names are cut to this many characters.
_WIDTH: Final = 200
_EVENTS_SQL: Final = """
SELECT s.id, s.ts, coalesce(s.dur, 0) AS dur, n.name, s.category::VARCHAR AS category, s.step
FROM spans s JOIN names n USING (name_id) WHERE s.id IN (SELECT unnest(?))
"""
_STEPS_SQL: Final = 'SELECT step, "begin" AS ts, "end" AS stop FROM steps WHERE source <> \'whole\' ORDER BY ts'


def places_of(timeline: Timeline, findings: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The places of findings, in the order of the findings and within each in time.

    Args:
        timeline: Of the recording.
        findings: As in the report's JSON. Their ids and times are those of the first of their ranks.

    Returns:
        `finding` (its position), `rank`, `at` (its start in the rank's own time), `start`, `end` (ns on the common
        axis), `event`, `name` and `category` (null for a stretch of time) and `step` (null outside every step).
    """
    wanted: dict[int, set[int]] = {}
    for rank, evidence in _with_ranks(timeline, findings):
        wanted.setdefault(rank, set()).update(evidence["events"])
    events = {rank: _events(timeline, rank, ids) for rank, ids in wanted.items()}
    steps = {rank: timeline.ranks[rank].for_thread().rows(_STEPS_SQL) for rank in wanted}
    found: list[dict[str, Any]] = []
    for number, finding in enumerate(findings):
        mine: dict[tuple[int, int, int | None], dict[str, Any]] = {}
        for rank, evidence in _with_ranks(timeline, [finding]):
            shift = timeline.axis.shift[rank]
            for start, end in evidence["ranges"]:
                step = next((row["step"] for row in steps[rank] if row["ts"] <= start < row["stop"]), None)
                place = _place(number, rank, start, end, shift, step)
                mine[start, end, None] = {**place, "event": None, "name": None, "category": None}
            for event in evidence["events"]:
                if (row := events[rank].get(event)) is not None:
                    start, end = row["ts"], row["ts"] + row["dur"]
                    mine.pop((start, end, None), None)  # the same stretch, of which the event says what it is
                    place = _place(number, rank, start, end, shift, row["step"])
                    name = visible(cut(row["name"], _WIDTH))
                    mine[start, end, event] = {**place, "event": event, "name": name, "category": row["category"]}
        found += [mine[key] for key in sorted(mine, key=lambda key: (key[0], key[1], key[2] or -1))]
    return found


def _with_ranks(timeline: Timeline, findings: Iterable[Mapping[str, Any]]) -> list[tuple[int, Mapping[str, Any]]]:
    """The evidence of findings that name a rank of the recording, and that rank."""
    told = [finding["evidence"] for finding in findings]
    return [(one["ranks"][0], one) for one in told if one["ranks"] and one["ranks"][0] in timeline.ranks]


def _events(timeline: Timeline, rank: int, ids: set[int]) -> dict[int, dict[str, Any]]:
    if not ids:
        return {}
    return {row["id"]: row for row in timeline.ranks[rank].for_thread().rows(_EVENTS_SQL, [sorted(ids)])}


def _place(number: int, rank: int, start: int, end: int, shift: int, step: int | None) -> dict[str, Any]:
    times = {"at": start, "start": start + shift, "end": end + shift}
    return {"finding": number, "rank": rank, **times, "step": step}
