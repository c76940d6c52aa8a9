"""The allocator's state after any event of its history: segments with their blocks, and the events around it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from stepscope.model.errors import UserError
from stepscope.model.schema import Column, ident, size, text
from stepscope.model.trace import Trace
from stepscope.web.answers import columns_of, json_answer
from stepscope.web.asked import number, one_rank
from stepscope.web.viewing import Viewing

#: Events before and after the moment, and blocks, that are sent.
_BEFORE: Final = 100
_AFTER: Final = 50
_MOST_BLOCKS: Final = 20_000
_COLUMNS: Final[tuple[Column, ...]] = (
    ident("seq", "Position in the history."),
    text("action", "What happened, as in `allocator_events`."),
    size("bytes", "Bytes that were asked for, or of the segment."),
    text("line", "Innermost frame of the user's own code, else of a library.", nullable=True),
    text("stream", "Queue that it belongs to.", nullable=True),
    ident("address", "First byte."),
    ident("stack", "Its call stack, a row of `call_stacks`; null if unknown.", nullable=True),
)
_EVENTS_SQL: Final = """
SELECT e.seq, e.action, e.bytes, s.place AS line, e.stream, e.address, e.stack
FROM allocator_events e LEFT JOIN call_stacks s USING (stack)
WHERE e.device = $device AND e.seq > $seq - $before AND e.seq <= $seq + $after ORDER BY e.seq
"""
_EXTENT_SQL: Final = "SELECT min(seq) AS low, max(seq) AS high FROM allocator_events WHERE device = $device"
_NOW_SQL: Final = "SELECT address, bytes, kind, stream, pool FROM segments WHERE device = $device"
#: Newest first: what happened after the moment is taken back.
_SINCE_SQL: Final = """
SELECT action, address, bytes, stream, pool FROM allocator_events
WHERE device = $device AND seq > $seq AND action LIKE 'segment%' AND address IS NOT NULL ORDER BY seq DESC
"""
_LIVE_SQL: Final = """
SELECT a.address, a.bytes, a.requested, a.stack, s.place, coalesce(a.category, s.category) AS category,
    CASE WHEN a.freed_seq <= $seq THEN 'pending' ELSE 'active' END AS state
FROM allocations a LEFT JOIN call_stacks s USING (stack)
WHERE a.device = $device AND coalesce(a.seq, -1) <= $seq AND coalesce(a.reusable_seq, a.freed_seq, $seq + 1) > $seq
ORDER BY a.address LIMIT $most
"""


def routes(viewing: Viewing) -> Sequence[BaseRoute]:
    """`api/snapshot/history?rank=N&device=N&seq=N`."""

    def history(request: Request) -> Response:
        trace, device = one_rank(request, viewing.trace), number(request, "device", 0) or 0
        return json_answer(request, state_after(trace, device, number(request, "seq")))

    return [Route("/api/snapshot/history", history)]


def state_after(trace: Trace, device: int, seq: int | None) -> dict[str, Any]:
    """What was reserved and in use on a device after an event of its history; without one, after the last.

    Returns:
        `low` and `high`, the first and last event; `seq`; `columns` and `rows`, the events around it; `segments`, by
        address, each with its `blocks`, which fill it: `active`, `pending` (freed, not usable yet) or `inactive`.

    Raises:
        UserError: The recording has no history of the device.
    """
    [extent] = trace.rows(_EXTENT_SQL, {"device": device})
    if extent["low"] is None:
        raise UserError(f"no history of device {device} is recorded")
    at = extent["high"] if seq is None else min(max(seq, extent["low"] - 1), extent["high"])
    asked = {"device": device, "seq": at}
    events = trace.rows(_EVENTS_SQL, {**asked, "before": _BEFORE, "after": _AFTER})
    segments = _segments(trace.rows(_NOW_SQL, {"device": device}), trace.rows(_SINCE_SQL, asked))
    live = trace.rows(_LIVE_SQL, {**asked, "most": _MOST_BLOCKS})
    return {
        "low": extent["low"], "high": extent["high"], "seq": at, "columns": columns_of(_COLUMNS),
        "rows": [[row[column.name] for column in _COLUMNS] for row in events],
        "segments": [_filled(number, segment, live) for number, segment in enumerate(segments)],
    }  # fmt: skip


def _segments(now: Iterable[dict[str, Any]], since: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """The segments of the end with all that came after a moment taken back, newest first; by address."""
    there = [dict(one) for one in now]
    for event in since:
        lo, hi = event["address"], event["address"] + (event["bytes"] or 0)
        if event["action"] in ("segment_free", "segment_unmap"):
            there.append(
                {"address": lo, "bytes": hi - lo, "kind": None, "stream": event["stream"], "pool": event["pool"]}
            )
        elif event["action"] in ("segment_alloc", "segment_map"):
            there = [part for one in there for part in _without(one, lo, hi)]
    return sorted(there, key=lambda one: int(one["address"]))


def _without(segment: dict[str, Any], lo: int, hi: int) -> list[dict[str, Any]]:
    """What a segment has outside of [lo, hi)."""
    start, end = segment["address"], segment["address"] + segment["bytes"]
    if hi <= start or end <= lo:
        return [segment]
    parts = ((start, lo), (hi, end))
    return [{**segment, "address": first, "bytes": last - first} for first, last in parts if first < last]


def _filled(number: int, segment: dict[str, Any], live: list[dict[str, Any]]) -> dict[str, Any]:
    """A segment with blocks, those in use and what is between them."""
    at, end = segment["address"], segment["address"] + segment["bytes"]
    nothing = {"requested": None, "stack": None, "place": None, "category": None, "state": "inactive"}
    blocks: list[dict[str, Any]] = []
    for block in live:
        if not at <= block["address"] < end:
            continue
        if block["address"] > at:
            blocks.append({**nothing, "address": at, "bytes": block["address"] - at})
        blocks.append({**block, "bytes": min(block["bytes"], end - block["address"])})
        at = block["address"] + block["bytes"]
    if at < end:
        blocks.append({**nothing, "address": at, "bytes": end - at})
    return {"segment": number, **segment, "blocks": blocks}
