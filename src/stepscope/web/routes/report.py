"""The report: what stands above its tables, and each table on its own."""

from __future__ import annotations

from collections.abc import Sequence

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from stepscope.web.answers import JSON, bytes_answer, progress_answer
from stepscope.web.viewing import Progress, Viewing


def routes(viewing: Viewing) -> Sequence[BaseRoute]:
    """`api/report` and `api/tables/NAME`."""

    def report(request: Request) -> Response:
        found = viewing.report()
        if isinstance(found, Progress):
            return progress_answer(request, found)
        return bytes_answer(request, found.head(), JSON)

    def table(request: Request) -> Response:
        return bytes_answer(request, viewing.whole_report().table(request.path_params["name"]), JSON)

    return [Route("/api/report", report), Route("/api/tables/{name}", table)]
