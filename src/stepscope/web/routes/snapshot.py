"""What a memory snapshot draws: allocations over time, and segments with their blocks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from stepscope.model.trace import Trace
from stepscope.web.answers import json_answer
from stepscope.web.asked import number, one_rank
from stepscope.web.viewing import Viewing

#: Allocations that are drawn each on its own, the largest; the others are one area. And blocks.
_MOST: Final = 2000
_MOST_BLOCKS: Final = 20_000
#: Stacks of allocations that a saved page has.
_SAVED_STACKS: Final = 500
_LARGEST_STACKS_SQL: Final = """
SELECT stack FROM allocations WHERE stack IS NOT NULL GROUP BY stack ORDER BY max(bytes) DESC, stack LIMIT $most
"""
_EXTENT_SQL: Final = """
SELECT coalesce(min(seq), 0) AS low, coalesce(max(greatest(seq, coalesce(freed_seq, 0))), 0) + 1 AS high, count(*) AS n
FROM allocations WHERE device = $device
"""
_ALLOCATIONS_SQL: Final = """
SELECT coalesce(a.seq, -1) AS made, coalesce(a.freed_seq, $high) AS freed, a.bytes, a.stack, a.ts, a.freed_ts,
    coalesce(a.category, s.category) AS category, s.place, s.module, a.stream
FROM allocations a LEFT JOIN call_stacks s USING (stack)
WHERE a.device = $device AND coalesce(a.freed_seq, $high) > coalesce(a.seq, -1)
ORDER BY a.bytes DESC, made LIMIT $most
"""
#: What the others had in use after each of up to 500 equal stretches of the history.
_REST_SQL: Final = """
WITH small AS (
    SELECT coalesce(seq, -1) AS made, coalesce(freed_seq, $high) AS freed, bytes FROM allocations
    WHERE device = $device AND coalesce(freed_seq, $high) > coalesce(seq, -1)
    ORDER BY bytes DESC, made OFFSET $most
), changes AS (SELECT made AS seq, bytes FROM small UNION ALL SELECT freed, -bytes FROM small)
SELECT least(499, greatest(0, (seq - $low) * 500 // greatest(1, $high - $low)))::BIGINT AS part,
    sum(bytes)::BIGINT AS bytes
FROM changes GROUP BY part ORDER BY part
"""
_FRAMES_SQL: Final = """
SELECT f.text FROM (SELECT unnest(frames) AS frame, generate_subscripts(frames, 1) AS depth FROM call_stacks
    WHERE stack = $stack) JOIN call_frames f USING (frame) ORDER BY depth
"""
_SEGMENTS_SQL: Final = """
SELECT segment, address, bytes, kind, stream, pool FROM segments WHERE device = $device ORDER BY address
"""
_BLOCKS_SQL: Final = """
SELECT b.segment, b.address, b.bytes, b.requested, b.state, b.stack, s.place, s.category
FROM blocks b LEFT JOIN call_stacks s USING (stack) WHERE b.device = $device ORDER BY b.segment, b.address LIMIT $most
"""


def routes(viewing: Viewing) -> Sequence[BaseRoute]:
    """`api/snapshot/allocations`, `api/snapshot/segments` and `api/snapshot/stack`."""

    def allocated(request: Request) -> Response:
        return json_answer(request, allocations(one_rank(request, viewing.trace), number(request, "device", 0) or 0))

    def laid_out(request: Request) -> Response:
        return json_answer(request, segments(one_rank(request, viewing.trace), number(request, "device", 0) or 0))

    def stack(request: Request) -> Response:
        trace = one_rank(request, viewing.trace)
        return json_answer(request, {"frames": frames_of(trace, number(request, "stack", -1) or 0)})

    return [
        Route("/api/snapshot/allocations", allocated),
        Route("/api/snapshot/segments", laid_out),
        Route("/api/snapshot/stack", stack),
    ]


def saved(viewing: Viewing) -> Iterator[str]:
    """Drawings of each device with a snapshot, and the stacks of its largest allocations."""
    for rank in viewing.trace.ranks:
        trace = viewing.trace.rank(rank)
        for row in trace.rows("SELECT DISTINCT device FROM allocations WHERE device IS NOT NULL ORDER BY device"):
            yield f"api/snapshot/allocations?rank={rank}&device={row['device']}"
        for row in trace.rows("SELECT DISTINCT device FROM segments WHERE device IS NOT NULL ORDER BY device"):
            yield f"api/snapshot/segments?rank={rank}&device={row['device']}"
        for row in trace.rows(_LARGEST_STACKS_SQL, {"most": _SAVED_STACKS}):
            yield f"api/snapshot/stack?rank={rank}&stack={row['stack']}"


def allocations(trace: Trace, device: int, most: int = _MOST) -> dict[str, Any]:
    """The largest allocations of a device, each with the positions in its history between which it was in use.

    Returns:
        `low` and `high`, the extent of the history; `count`; `rows` with `columns`; `rest`, bytes of all others after
        each of 500 equal stretches.
    """
    extent = trace.rows(_EXTENT_SQL, {"device": device})[0]
    asked = {"device": device, "high": extent["high"], "most": most}
    rows = trace.rows(_ALLOCATIONS_SQL, asked)
    changes = trace.rows(_REST_SQL, {**asked, "low": extent["low"]}) if extent["n"] > len(rows) else []
    rest, level, by_part = [], 0, {row["part"]: row["bytes"] for row in changes}
    for part in range(500 if changes else 0):
        level += by_part.get(part, 0)
        rest.append(level)
    columns = list(rows[0]) if rows else []
    return {
        "low": extent["low"], "high": extent["high"], "count": extent["n"], "columns": columns,
        "rows": [list(row.values()) for row in rows], "rest": rest,
    }  # fmt: skip


def frames_of(trace: Trace, stack: int) -> list[str]:
    """The frames of a stack, innermost first."""
    return [row["text"] for row in trace.rows(_FRAMES_SQL, {"stack": stack})]


def segments(trace: Trace, device: int) -> dict[str, Any]:
    """Segments of a device by address, each with its blocks."""
    found = {row["segment"]: {**row, "blocks": []} for row in trace.rows(_SEGMENTS_SQL, {"device": device})}
    for row in trace.rows(_BLOCKS_SQL, {"device": device, "most": _MOST_BLOCKS}):
        if row["segment"] in found:
            found[row.pop("segment")]["blocks"].append(row)
    return {"segments": list(found.values())}
