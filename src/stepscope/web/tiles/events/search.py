"""Events by a part of their names."""

from __future__ import annotations

from typing import Any, Final, Literal

import numpy as np

from stepscope.analyses.shared.recorded_events import recorded_events
from stepscope.language import said
from stepscope.model.errors import UserError
from stepscope.model.events.columns import names_by_id
from stepscope.model.trace import Trace
from stepscope.reports.text import cut, visible
from stepscope.web.tiles.events.briefs import briefs
from stepscope.web.tiles.timeline import Timeline

#: Names that are listed beside the event that is found.
_LISTED: Final = 50
_SHORTEST: Final = 2
_WIDTH: Final = 200
_NEXT_SQL: Final = """
SELECT id, ts FROM spans WHERE name_id IN (SELECT unnest($names)) AND (ts > $ts OR (ts = $ts AND id > $id))
ORDER BY ts, id LIMIT 1
"""
_PREVIOUS_SQL: Final = """
SELECT id, ts FROM spans WHERE name_id IN (SELECT unnest($names)) AND (ts < $ts OR (ts = $ts AND id < $id))
ORDER BY ts DESC, id DESC LIMIT 1
"""


def search(
    timeline: Timeline, text: str, ts: int, event: int, rank: int, direction: Literal["next", "previous"]
) -> dict[str, Any]:
    """The next or previous event whose name has a text in it, in any case, from a moment on.

    Args:
        timeline: Where to look: in all ranks.
        text: At least two characters.
        ts: Moment on the common axis.
        event: Id of the event there, which is not found again; -1 for none.
        rank: Its rank.
        direction: Towards the end or the start.

    Returns:
        `count` of all such events, their commonest `names` with counts, and `found`, an event as in `briefs`, or null.

    Raises:
        UserError: The text is too short.
    """
    if len(text.strip()) < _SHORTEST:
        raise UserError(said("search for at least {shortest} characters", shortest=_SHORTEST))
    counts: dict[str, int] = {}
    best: tuple[tuple[int, int, int], int] | None = None
    forward = direction == "next"
    for one, trace in timeline.ranks.items():
        matching = _matching(trace, text.strip().casefold())
        _count(trace, matching, counts)
        shift = timeline.axis.shift[one]
        # Events of one moment are in the order of ranks, then of ids.
        after = event if one == rank else (2**31 if (one < rank) == forward else -1)
        values = {"names": sorted(matching), "ts": ts - shift, "id": after}
        hits = trace.for_thread().rows(_NEXT_SQL if forward else _PREVIOUS_SQL, values) if matching else []
        for row in hits:
            key = (row["ts"] + shift, one, row["id"])
            if best is None or (key < best[0]) == forward:
                best = (key, one)
    found = None if best is None else briefs(timeline, best[1], [best[0][2]]).get(best[0][2])
    common = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    names = [{"name": visible(cut(name, _WIDTH)), "count": count} for name, count in common[:_LISTED]]
    return {"count": sum(counts.values()), "names": names, "found": found}


def _matching(trace: Trace, text: str) -> dict[int, str]:
    return {name_id: name for name_id, name in trace.once(names_by_id).items() if text in name.casefold()}


def _count(trace: Trace, matching: dict[int, str], counts: dict[str, int]) -> None:
    kinds = trace.once(recorded_events)
    mine = np.isin(kinds.name, list(matching))
    for name_id, number in zip(kinds.name[mine].tolist(), kinds.number[mine].tolist(), strict=True):
        counts[matching[name_id]] = counts.get(matching[name_id], 0) + number
