"""What was allocated at a moment: of a recording by its time, of a memory snapshot by the event of its history."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from stepscope.analyses.memory.live_allocations import LIVE_ALLOCATIONS, live_allocations
from stepscope.model.errors import MissingInputError, UserError
from stepscope.model.schema import Column, ident, ns, size, text
from stepscope.model.trace import Trace
from stepscope.web.answers import columns_of, json_answer
from stepscope.web.asked import number, one_rank
from stepscope.web.viewing import Viewing

#: Rows that are sent, the largest; sums are over all.
_MOST: Final = 1000
_COLUMNS: Final[tuple[Column, ...]] = (
    size("bytes", "Size of its block."),
    size("requested", "Bytes that the program asked for."),
    text("category", "What it is for, as recorded or as its stack shows.", nullable=True),
    text("line", "Innermost frame of the user's own code, else of a library.", nullable=True),
    text("module", "File of the innermost forward outside PyTorch.", nullable=True),
    text("stream", "Queue that it belongs to.", nullable=True),
    ident("made", "Event of the history by which it was made; -1 before it."),
    ns("made_ts", "When it was made; null if before the history.", nullable=True),
    ident("stack", "Its call stack, a row of `call_stacks`; null if unknown.", nullable=True),
)
#: Of a history, what was allocated by an event and freed by none up to there; by their numbers, or their times.
_SQL: Final = """
SELECT a.bytes, a.requested, coalesce(a.category, s.category) AS category, s.place AS line, s.module, a.stream,
    coalesce(a.seq, -1) AS made, a.ts AS made_ts, a.stack
FROM allocations a LEFT JOIN call_stacks s USING (stack)
WHERE a.device = $device AND coalesce(a.{at}, $when) <= $when AND (a.freed_seq IS NULL OR a.freed_{at} > $when)
ORDER BY a.bytes DESC, made, a.address
"""
_TIMED_SQL: Final = "SELECT count(*) FROM allocations WHERE device = $device AND ts IS NOT NULL"


def routes(viewing: Viewing) -> Sequence[BaseRoute]:
    """`api/memory/live?rank=N&device=N&ts=NS`, or `seq=N` in place of `ts`; device -1 is host memory."""

    def live(request: Request) -> Response:
        trace, device = one_rank(request, viewing.trace), number(request, "device", 0)
        seq, ts = number(request, "seq"), number(request, "ts")
        if device is not None and seq is not None and ts is None:
            return json_answer(request, live_at_event(trace, device, seq))
        if device is not None and ts is not None and seq is None:
            return json_answer(request, _known_at(trace, device, ts))
        raise UserError("a moment is `ts`, in ns, or `seq`, an event of a snapshot's history")

    return [Route("/api/memory/live", live)]


def saved(viewing: Viewing) -> Iterator[str]:
    """What was live at the peak of each device."""
    report = viewing.whole_report()
    for table, name in (("allocator_timeline", "seq"), ("memory_timeline", "ts")):
        peaks: dict[tuple[int, int | None], dict[str, Any]] = {}
        for row in report.rows(table):
            key = row["rank"], row["device"]
            if key not in peaks or row["allocated_bytes"] > peaks[key]["allocated_bytes"]:
                peaks[key] = row
        for (rank, device), row in peaks.items():
            yield f"api/memory/live?rank={rank}&device={-1 if device is None else device}&{name}={row[name]}"


def live_at_event(trace: Trace, device: int, seq: int) -> dict[str, Any]:
    """What was in use on a device after an event of the history of a snapshot; -1 is before the first.

    Returns:
        `bytes` and `count` of all, `columns`, and `rows` of the largest.
    """
    return _of_history(trace, device, "seq", seq)


def _of_history(trace: Trace, device: int, at: str, when: int) -> dict[str, Any]:
    rows = trace.rows(_SQL.format(at=at), {"device": device, "when": when})
    return _answer(_COLUMNS, [[row[column.name] for column in _COLUMNS] for row in rows])


def _known_at(trace: Trace, device: int, ts: int) -> dict[str, Any]:
    """What was in use then, or `unknown`: that amounts are recorded without addresses is an answer, not a mistake."""
    try:
        return _live_at(trace, device, ts)
    except MissingInputError as lacking:
        return {"unknown": {"message": lacking.message, "hint": lacking.hint}}


def _live_at(trace: Trace, device: int, ts: int) -> dict[str, Any]:
    # A snapshot tells more: lines and categories.
    if trace.scalar(_TIMED_SQL, {"device": device}):
        return _of_history(trace, device, "ts", ts)
    table = live_allocations(trace, None if device < 0 else device, ts)
    return _answer(LIVE_ALLOCATIONS.columns[1:], [list(row[1:]) for row in table.rows()])


def _answer(columns: Sequence[Column], rows: list[list[Any]]) -> dict[str, Any]:
    """The answer; the first column has the sizes."""
    total = sum(row[0] for row in rows)
    return {"columns": columns_of(columns), "bytes": total, "count": len(rows), "rows": rows[:_MOST]}
