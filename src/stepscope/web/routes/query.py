"""SQL over the canonical tables, and what they are."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from time import monotonic
from typing import Any, Final

import duckdb
import pyarrow as pa
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from stepscope.model.errors import UserError
from stepscope.model.process.memory_limit import is_out_of_memory, memory_limited
from stepscope.model.process.sandbox import failure
from stepscope.model.tables import TABLES
from stepscope.model.trace import Trace
from stepscope.reports.text import cut
from stepscope.web.answers import json_answer
from stepscope.web.asked import posted
from stepscope.web.viewing import Viewing

#: Rows that are sent, how long a query may take, s, and what memory it may use, MB.
_MOST: Final = 10_000
_SECONDS: Final = 60.0
_MEMORY_MB: Final = 2000
#: Characters of a query; bytes of the request that brings it, where each may be escaped.
_LONGEST: Final = 100_000
_BODY_BYTES: Final = 6 * _LONGEST + 1000
#: Characters of a value that are sent, and of all of them together.
_VALUE: Final = 20_000
_VALUES: Final = 16_000_000
#: Queries that run at a time; those that come meanwhile wait.
_AT_A_TIME: Final = 2


def routes(viewing: Viewing) -> Sequence[BaseRoute]:
    """`api/query` (POST `{"sql": ...}`) and `api/schema`."""
    turn = asyncio.Semaphore(_AT_A_TIME)

    async def query(request: Request) -> Response:
        brought = await posted(request, _BODY_BYTES)
        asked = brought.get("sql") if isinstance(brought, dict) else None
        if not isinstance(asked, str) or not asked.strip() or len(asked) > _LONGEST:
            raise UserError("the query is missing, empty or too long", hint="give a SELECT")
        async with turn:
            return json_answer(request, await run_in_threadpool(answer, viewing.trace, asked))

    def schema(request: Request) -> Response:
        tables = [
            {
                "name": table.name,
                "description": table.description,
                "columns": [
                    {"name": c.name, "type": c.type, "unit": c.unit, "description": c.description}
                    for c in table.columns
                ],
            }
            for table in TABLES
        ]
        return json_answer(request, {"tables": tables})

    return [Route("/api/query", query, methods=["POST"]), Route("/api/schema", schema)]


def answer(
    trace: Trace, sql: str, *, most: int = _MOST, seconds: float = _SECONDS, memory_mb: int = _MEMORY_MB
) -> dict[str, Any]:
    """The first rows of a query's result; long values are cut.

    Args:
        trace: A trace that was opened locked.
        sql: One statement that only reads.
        most: Rows to give.
        seconds: When to stop it.
        memory_mb: What the process may use beyond what it has.

    Returns:
        Columns, rows, whether there are more, and the seconds it took.

    Raises:
        UserError: It is refused, fails, takes too long or too much.
    """
    own = trace.for_thread()
    started = monotonic()
    late = threading.Timer(seconds, own.interrupt)
    late.start()
    try:
        with memory_limited(memory_mb):
            columns, rows, more = _first_rows(own, sql, most)
    except (MemoryError, duckdb.Error, RuntimeError, pa.ArrowException) as error:
        if is_out_of_memory(error):
            raise UserError(
                f"the query needs more memory than {memory_mb:,} MB", hint="ask for less at a time"
            ) from error
        if monotonic() - started >= seconds:
            raise UserError(
                f"the query was stopped after {seconds:g} s", hint="`stepscope query` may take longer"
            ) from error
        raise failure(error) from error
    finally:
        late.cancel()
    return {
        "description": "", "columns": columns, "rows": rows, "more": more, "seconds": round(monotonic() - started, 3),
    }  # fmt: skip


def _first_rows(trace: Trace, sql: str, most: int) -> tuple[list[dict[str, str]], list[list[Any]], bool]:
    """Columns, at most so many rows of at most so many characters, and whether there are more."""
    trace.check_reads_only(sql)
    batches = trace.batches(sql, rows=min(most + 1, 2048))
    columns = [_column(field.name, str(field.type)) for field in batches.schema]
    rows: list[list[Any]] = []
    room = _VALUES
    for batch in batches:
        for values in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            row = [_short(value) for value in values]
            room -= sum(len(value) for value in row if isinstance(value, str))
            if len(rows) == most or room < 0:
                return columns, rows, True
            rows.append(row)
    return columns, rows, False


def _short(value: Any) -> Any:
    """A value, cut where it is long; long lists and structures as text."""
    if value is None or isinstance(value, (bool, int, float)):
        return value
    text = value if isinstance(value, str) else str(value)
    return cut(text, _VALUE) if len(text) > _VALUE or not isinstance(value, (list, dict)) else value


def _column(name: str, kind: str) -> dict[str, str]:
    """A column of a result; names that end in a unit have it."""
    numbers = {"int64": "int64", "int32": "int32", "double": "float64", "float": "float64", "bool": "bool"}
    unit = "ns" if name.endswith("_ns") or name in ("ts", "dur") else "bytes" if name.endswith("bytes") else ""
    known = numbers.get(kind, "float64" if kind.startswith("decimal") else "int64" if "int" in kind else "string")
    return {"name": name, "type": known, "unit": unit if known in ("int64", "float64") else "", "description": kind}
