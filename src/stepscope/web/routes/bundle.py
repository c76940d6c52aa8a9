"""The built page: its document, script and style sheet."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from html import escape
from importlib.resources import files
from typing import Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from stepscope.web.answers import bytes_answer
from stepscope.web.viewing import Viewing

_DOCUMENT: Final = "index.html"
_FILES: Final = {
    _DOCUMENT: "text/html",
    "app.js": "text/javascript",
    "app.css": "text/css",
    "LICENSES.txt": "text/plain",
}


def asset(name: str) -> bytes:
    """A file of the built page."""
    return files("stepscope.web").joinpath(f"static/{name}").read_bytes()


def routes(_: Viewing) -> Sequence[BaseRoute]:
    """The page at the prefix itself, and its files by name."""
    return [
        Route("/", partial(_file, _DOCUMENT)),
        *(Route(f"/{name}", partial(_file, name)) for name in _FILES),
    ]


def routes_with_choices(choices: str) -> Sequence[BaseRoute]:
    """The same where there are several recordings: the document says where the page may ask for them.

    Args:
        choices: Address of the list, relative to the page.
    """
    document = asset(_DOCUMENT).replace(b"<body>", f'<body data-choices="{escape(choices)}">'.encode())

    def page(request: Request) -> Response:
        return bytes_answer(request, document, _FILES[_DOCUMENT])

    others = [Route(f"/{name}", partial(_file, name)) for name in _FILES if name != _DOCUMENT]
    return [Route("/", page), Route(f"/{_DOCUMENT}", page), *others]


def _file(name: str, request: Request) -> Response:
    return bytes_answer(request, asset(name), _FILES[name])
