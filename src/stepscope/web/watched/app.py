"""The application: the page, and what it asks for again and again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from importlib.resources import files
from typing import Any, Final

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp

from stepscope.model.errors import StepscopeError
from stepscope.web.answers import bytes_answer, failed, json_answer, unexpected
from stepscope.web.security import LOCAL, Guard
from stepscope.web.speaking import Speaking
from stepscope.web.watched.texts import filled

_PAGE: Final = "watched.html"
_FILES: Final = {_PAGE: "text/html", "watched.js": "text/javascript", "watched.css": "text/css"}


def create_app(now: Callable[[], dict[str, Any]], token: str | None, hosts: Sequence[str] | None = LOCAL) -> ASGIApp:
    """The server's application for a watched job.

    Args:
        now: Gives what the page shows, as JSON values.
        token: What a browser must present to read it; None where another server guards it.
        hosts: Names of this server that requests may bear, without port; None for any.
    """

    def live(request: Request) -> Response:
        return json_answer(request, now())

    app = Starlette(
        routes=[
            Route("/", partial(_file, _PAGE)),
            *(Route(f"/{name}", partial(_file, name)) for name in _FILES),
            Route("/api/live", live),
        ],
        exception_handlers={StepscopeError: failed, Exception: unexpected},
    )
    return Speaking(Guard(app, token, hosts))


def _file(name: str, request: Request) -> Response:
    body = files("stepscope.web").joinpath(f"watched/{name}").read_bytes()
    return bytes_answer(request, filled(body.decode()) if name == _PAGE else body, _FILES[name])
