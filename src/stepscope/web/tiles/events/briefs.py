"""Events in brief: their names, times and places, for lists of them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from stepscope.reports.text import cut, visible
from stepscope.web.tiles.timeline import Timeline

#: Brief names are cut to this many characters.
_WIDTH: Final = 300
_SQL: Final = """
SELECT id, ts, dur, track, n.name, category::VARCHAR AS category, step FROM spans s JOIN names n USING (name_id)
WHERE id IN (SELECT unnest(?)) ORDER BY ts, id
"""


def briefs(timeline: Timeline, rank: int, ids: Iterable[int]) -> dict[int, dict[str, Any]]:
    """Events of a rank by id: `rank, id, name, category, start, dur, step`, and `track, lane` where they are drawn.

    `start` is on the common axis. Ids that the rank lacks are left out.
    """
    found: dict[int, dict[str, Any]] = {}
    wanted = sorted(set(ids))
    if not wanted:
        return found
    shift = timeline.axis.shift[rank]
    for row in timeline.ranks[rank].for_thread().rows(_SQL, [wanted]):
        start = row["ts"] + shift
        index = timeline.track_of(rank, row["track"], row["category"])
        place = None if index is None else timeline.place(index, row["id"], start)
        found[row["id"]] = {
            "rank": rank,
            "id": row["id"],
            "name": visible(cut(row["name"], _WIDTH)),
            "category": row["category"],
            "start": start,
            "dur": row["dur"],
            "step": row["step"],
            "track": None if place is None else place.track,
            "lane": None if place is None else place.lane,
        }
    return found
