"""The allocator's state after any event of its history: segments with their blocks, and the events around it."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from stepscope.language import said
from stepscope.model.errors import UserError
from stepscope.model.schema import Column, ident, size, text
from stepscope.model.trace import Trace
from stepscope.web.answers import columns_of, json_answer
from stepscope.web.asked import number, one_rank
from stepscope.web.viewing import Viewing

#: Events before and after the moment, and blocks in use, the largest, that are sent.
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
_THEN: Final = """
FROM allocations a LEFT JOIN call_stacks s USING (stack)
WHERE a.device = $device AND coalesce(a.seq, -1) <= $seq AND coalesce(a.reusable_seq, a.freed_seq, $seq + 1) > $seq
ORDER BY a.bytes DESC, a.address
"""
_LIVE_SQL: Final = f"""
SELECT a.address, a.bytes, a.requested, a.stack, s.place, coalesce(a.category, s.category) AS category,
    CASE WHEN a.freed_seq <= $seq THEN 'pending' ELSE 'active' END AS state {_THEN} LIMIT $most
"""
_SMALLER_SQL: Final = f"SELECT a.address, a.bytes, coalesce(a.freed_seq <= $seq, false) AS pending {_THEN} OFFSET $most"
#: Space that nothing is known to be in, between blocks.
_NOTHING: Final = {"requested": None, "stack": None, "place": None, "category": None}
#: Addresses in order, bytes, and whether each is only pending.
_Smaller = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.bool_]]


def routes(viewing: Viewing) -> Sequence[BaseRoute]:
    """`api/snapshot/history?rank=N&device=N&seq=N`."""

    def history(request: Request) -> Response:
        trace, device = one_rank(request, viewing.trace), number(request, "device", 0) or 0
        return json_answer(request, state_after(trace, device, number(request, "seq")))

    return [Route("/api/snapshot/history", history)]


def state_after(trace: Trace, device: int, seq: int | None, most: int = _MOST_BLOCKS) -> dict[str, Any]:
    """What was reserved and in use on a device after an event of its history; without one, after the last.

    Returns:
        `low` and `high`, the first and last event; `seq`; `columns` and `rows`, the events around it; `segments`, by
        address, each with its `blocks`, which fill it: `active`, `pending` (freed, not usable yet), `inactive`, or
        `unknown` where `left`, those in use beyond the `most` largest, are; `active` and `pending`, bytes of all.

    Raises:
        UserError: The recording has no history of the device.
    """
    [extent] = trace.rows(_EXTENT_SQL, {"device": device})
    if extent["low"] is None:
        raise UserError(said("no history of device {device} is recorded", device=device))
    at = extent["high"] if seq is None else min(max(seq, extent["low"] - 1), extent["high"])
    asked = {"device": device, "seq": at}
    events = trace.rows(_EVENTS_SQL, {**asked, "before": _BEFORE, "after": _AFTER})
    reserved = _reserved(trace.rows(_NOW_SQL, {"device": device}), trace.rows(_SINCE_SQL, asked))
    live = sorted(trace.rows(_LIVE_SQL, {**asked, "most": most}), key=lambda one: int(one["address"]))
    smaller = _smaller(trace, {**asked, "most": most})
    starts = [int(one["address"]) for one in live]
    segments = []
    for i, segment in enumerate(reserved):
        inside = live[bisect_left(starts, segment["address"]) : bisect_left(starts, _end(segment))]
        segments.append({"segment": i, **segment, "blocks": _filled(segment, inside, smaller[0])})
    used = {state: _used(segments, state) + _hidden(reserved, smaller, state) for state in ("active", "pending")}
    return {
        "low": extent["low"], "high": extent["high"], "seq": at, "columns": columns_of(_COLUMNS),
        "rows": [[row[column.name] for column in _COLUMNS] for row in events],
        "segments": segments, "left": smaller[0].size, **used,
    }  # fmt: skip


def _reserved(now: Iterable[dict[str, Any]], since: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """The segments of the end with all that came after a moment taken back, newest first; by address, disjoint."""
    there: list[dict[str, Any]] = []
    for segment in now:
        _cut(there, segment["address"], _end(segment))
        there.insert(_at(there, segment["address"]), dict(segment))
    for event in since:
        part = {"address": event["address"], "bytes": event["bytes"] or 0, "kind": None}
        lo, hi = part["address"], _end(part)
        _cut(there, lo, hi)
        if event["action"] not in ("segment_free", "segment_unmap") or hi <= lo:
            continue
        i = _at(there, lo)
        there.insert(i, {**part, "stream": event["stream"], "pool": event["pool"]})
        if event["action"] == "segment_unmap":  # a part of a segment that grew: blocks may lie across its edges
            _join(there, i)
            _join(there, i - 1)
    return there


def _end(segment: dict[str, Any]) -> int:
    return int(segment["address"] + segment["bytes"])


def _at(segments: list[dict[str, Any]], address: int) -> int:
    """The first segment that is not before an address."""
    return bisect_left(segments, address, key=lambda one: int(one["address"]))


def _cut(segments: list[dict[str, Any]], lo: int, hi: int) -> None:
    """Leave what is outside of [lo, hi)."""
    first, last = _at(segments, lo), _at(segments, hi)
    first -= first > 0 and _end(segments[first - 1]) > lo
    kept = []
    for one in segments[first:last]:
        parts = ((one["address"], min(lo, _end(one))), (max(hi, one["address"]), _end(one)))
        kept += [{**one, "address": start, "bytes": end - start} for start, end in parts if start < end]
    if last > first and hi > lo:
        segments[first:last] = kept


def _join(segments: list[dict[str, Any]], i: int) -> None:
    """Make one of a segment and the next, where that follows it on the same queue."""
    if not 0 <= i < len(segments) - 1:
        return
    one, other = segments[i : i + 2]
    if _end(one) == other["address"] and one["stream"] == other["stream"]:
        kind = one["kind"] if one["kind"] is not None else other["kind"]
        segments[i : i + 2] = [{**one, "bytes": one["bytes"] + other["bytes"], "kind": kind}]


def _smaller(trace: Trace, asked: dict[str, int]) -> _Smaller:
    """Blocks in use beyond the largest, by address."""
    found = trace.columns(_SMALLER_SQL, asked)
    order = np.argsort(found["address"], kind="stable")
    return found["address"][order], found["bytes"][order], found["pending"][order]


def _filled(segment: dict[str, Any], live: list[dict[str, Any]], smaller: NDArray[np.int64]) -> list[dict[str, Any]]:
    """The blocks of a segment: those in use, by address, and what is between them."""
    at, end = int(segment["address"]), _end(segment)
    blocks: list[dict[str, Any]] = []

    def between(until: int) -> None:
        if at < until:
            first, last = np.searchsorted(smaller, (at, until))
            state = "unknown" if first < last else "inactive"
            blocks.append({**_NOTHING, "state": state, "address": at, "bytes": until - at})

    for block in live:
        if block["address"] < at:
            continue
        between(block["address"])
        blocks.append({**block, "bytes": min(block["bytes"], end - block["address"])})
        at = block["address"] + blocks[-1]["bytes"]
    between(end)
    return blocks


def _used(segments: list[dict[str, Any]], state: str) -> int:
    return sum(block["bytes"] for one in segments for block in one["blocks"] if block["state"] == state)


def _hidden(segments: list[dict[str, Any]], smaller: _Smaller, state: str) -> int:
    """Bytes of the smaller blocks of a state that are in a segment."""
    address, size, pending = smaller
    starts = np.array([one["address"] for one in segments] or [0], np.int64)
    ends = np.array([_end(one) for one in segments] or [0], np.int64)
    at = np.maximum(np.searchsorted(starts, address, side="right") - 1, 0)
    inside = (starts[at] <= address) & (address < ends[at])
    return int(size[inside & (pending == (state == "pending"))].sum())
