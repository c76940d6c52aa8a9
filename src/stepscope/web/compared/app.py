"""The application of a comparison: its own routes, and below them those of either recording."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Mount, Route
from starlette.types import ASGIApp

from stepscope.comparison.build import CompareOptions
from stepscope.model.errors import StepscopeError
from stepscope.web.answers import failed, json_answer, progress_answer, unexpected
from stepscope.web.app import application
from stepscope.web.compared.comparing import Comparing
from stepscope.web.compared.head import head, shown_table
from stepscope.web.making import Progress
from stepscope.web.routes import bundle
from stepscope.web.security import LOCAL, Guard
from stepscope.web.speaking import Speaking

if TYPE_CHECKING:
    from stepscope.model.trace import Trace


def create_app(
    base: Trace,
    new: Trace,
    token: str | None,
    *,
    options: CompareOptions | None = None,
    hosts: Sequence[str] | None = LOCAL,
) -> ASGIApp:
    """The server's application for two open traces.

    Args:
        base: One side, opened with `Options(locked=True)`: it answers queries of whoever has the token.
        new: The other, opened in the same way.
        token: What a browser must present to read anything of the recordings.
        options: What to compare.
        hosts: Names of this server that requests may bear, without port; None for any.
    """
    comparing = Comparing(base, new, options)
    comparing.start()
    return Speaking(Guard(compared(comparing), token, hosts))


def compared(comparing: Comparing) -> Starlette:
    """The routes alone, for who guards them in another way."""

    def report(request: Request) -> Response:
        found = comparing.comparison()
        if isinstance(found, Progress):
            return progress_answer(request, found)
        return json_answer(request, head(found, comparing.base.trace, comparing.new.trace))

    def table(request: Request) -> Response:
        return json_answer(request, shown_table(comparing.whole().table(request.path_params["name"])))

    return Starlette(
        routes=[
            Route("/api/report", report),
            Route("/api/tables/{name}", table),
            *(Mount(f"/{name}", application(viewing)) for name, viewing in comparing.sides.items()),
            *bundle.routes(comparing.base),
        ],
        exception_handlers={StepscopeError: failed, Exception: unexpected},
    )
