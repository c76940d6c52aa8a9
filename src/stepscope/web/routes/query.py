"""SQL over the canonical tables, and what they are."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Final

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from stepscope.model.errors import UserError
from stepscope.model.tables import TABLES
from stepscope.store.queried import answer
from stepscope.web.answers import json_answer
from stepscope.web.asked import BusyError, posted
from stepscope.web.viewing import Viewing

#: Characters of a query; bytes of the request that brings it, where each may be escaped.
_LONGEST: Final = 100_000
_BODY_BYTES: Final = 6 * _LONGEST + 1000
#: Queries that run at a time; those that come meanwhile wait, but no longer than a query may run, s.
_AT_A_TIME: Final = 2
_PATIENCE_S: Final = 60.0


@asynccontextmanager
async def in_turn(turns: asyncio.Semaphore, patience_s: float = _PATIENCE_S) -> AsyncIterator[None]:
    """Wait for a place among the queries that run.

    A function of DuckDB that can't be interrupted may hold a place for longer than queries may run.

    Raises:
        BusyError: There is none in that time.
    """
    try:
        await asyncio.wait_for(turns.acquire(), patience_s)
    except asyncio.TimeoutError:
        raise BusyError("the server is busy with other queries", hint="ask again in a minute") from None
    try:
        yield
    finally:
        turns.release()


def routes(viewing: Viewing) -> Sequence[BaseRoute]:
    """`api/query` (POST `{"sql": ...}`) and `api/schema`."""
    turns = asyncio.Semaphore(_AT_A_TIME)

    async def query(request: Request) -> Response:
        brought = await posted(request, _BODY_BYTES)
        asked = brought.get("sql") if isinstance(brought, dict) else None
        if not isinstance(asked, str) or not asked.strip() or len(asked) > _LONGEST:
            raise UserError("the query is missing, empty or too long", hint="give a SELECT")
        async with in_turn(turns):
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
