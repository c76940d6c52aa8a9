"""SQL over the canonical tables, and what they are."""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence
from time import monotonic
from typing import Any, Final

import duckdb
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from stepscope.model.errors import UserError
from stepscope.model.process.sandbox import failure
from stepscope.model.tables import TABLES
from stepscope.model.trace import Trace
from stepscope.web.answers import json_answer
from stepscope.web.viewing import Viewing

#: Rows that are sent, and how long a query may take, s.
_MOST: Final = 10_000
_SECONDS: Final = 60.0
#: Characters of a query.
_LONGEST: Final = 100_000


def routes(viewing: Viewing) -> Sequence[BaseRoute]:
    """`api/query` (POST `{"sql": ...}`) and `api/schema`."""

    async def query(request: Request) -> Response:
        from starlette.concurrency import run_in_threadpool

        try:
            asked = json.loads((await request.body())[: 4 * _LONGEST])["sql"]
        except (ValueError, KeyError, TypeError) as error:
            raise UserError("the query is missing") from error
        if not isinstance(asked, str) or not asked.strip() or len(asked) > _LONGEST:
            raise UserError("the query is empty or too long", hint="give a SELECT")
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


def answer(trace: Trace, sql: str, *, most: int = _MOST, seconds: float = _SECONDS) -> dict[str, Any]:
    """The first rows of a query's result.

    Args:
        trace: A trace that was opened locked.
        sql: One statement that only reads.
        most: Rows to give.
        seconds: When to stop it.

    Returns:
        Columns, rows, whether there are more, and the seconds it took.

    Raises:
        UserError: It is refused, fails, or takes too long.
    """
    own = trace.for_thread()
    started = monotonic()
    late = threading.Timer(seconds, own.interrupt)
    late.start()
    rows: list[list[Any]] = []
    try:
        own.check_reads_only(sql)
        batches = own.batches(sql, rows=min(most + 1, 2048))
        columns = [_column(field.name, str(field.type)) for field in batches.schema]
        for batch in batches:
            rows += [list(row) for row in zip(*(column.to_pylist() for column in batch.columns), strict=True)]
            if len(rows) > most:
                break
    except (duckdb.Error, RuntimeError) as error:
        if monotonic() - started >= seconds:
            raise UserError(
                f"the query was stopped after {seconds:g} s", hint="`stepscope query` may take longer"
            ) from error
        raise failure(error) from error
    finally:
        late.cancel()
    return {
        "description": "", "columns": columns, "rows": rows[:most], "more": len(rows) > most,
        "seconds": round(monotonic() - started, 3),
    }  # fmt: skip


def _column(name: str, kind: str) -> dict[str, str]:
    """A column of a result; names that end in a unit have it."""
    numbers = {"int64": "int64", "int32": "int32", "double": "float64", "float": "float64", "bool": "bool"}
    unit = "ns" if name.endswith("_ns") or name in ("ts", "dur") else "bytes" if name.endswith("bytes") else ""
    known = numbers.get(kind, "float64" if kind.startswith("decimal") else "int64" if "int" in kind else "string")
    return {"name": name, "type": known, "unit": unit if known in ("int64", "float64") else "", "description": kind}
