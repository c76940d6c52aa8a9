"""The built page: its document, script and style sheet, and the catalogue of its texts in another language."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from html import escape
from importlib.resources import files
from typing import Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from stepscope.language import said, spoken, told
from stepscope.web.answers import bytes_answer
from stepscope.web.viewing import Viewing

_DOCUMENT: Final = "index.html"
#: Catalogues by language, which documents in it load before the script.
CATALOGUES: Final = {"zh": "zh.js"}
#: Languages as documents name them (BCP 47): Chinese is written in simplified characters.
TAGS: Final = {"en": "en", "zh": "zh-Hans"}
_FILES: Final = {
    _DOCUMENT: "text/html",
    "app.js": "text/javascript",
    **dict.fromkeys(CATALOGUES.values(), "text/javascript"),
    "app.css": "text/css",
    "LICENSES.txt": "text/plain",
}
#: Texts of the document itself.
_TEXTS: Final = (
    said("Nothing more to see? Then the address lacks the / before its ? (or the proxy passes only this page on)."),
    said(
        "This page needs JavaScript; <code>stepscope analyze PATH --html FILE</code> writes one that can be read "
        "without."
    ),
)


def asset(name: str) -> bytes:
    """A file of the built page."""
    return files("stepscope.web").joinpath(f"static/{name}").read_bytes()


def document(choices: str | None = None) -> bytes:
    """The page's document in the language that is spoken.

    Args:
        choices: Address of the list of recordings, relative to the page, where there are several.
    """
    text = asset(_DOCUMENT).decode()
    language = spoken()
    if language in CATALOGUES:
        script = '<script src="app.js">'
        text = text.replace('lang="en"', f'lang="{TAGS[language]}"', 1)
        text = text.replace(script, f'<script src="{CATALOGUES[language]}"></script>\n    {script}', 1)
        for one in _TEXTS:
            text = text.replace(str(one), told(one), 1)
    if choices is not None:
        text = text.replace("<body>", f'<body data-choices="{escape(choices)}">', 1)
    return text.encode()


def routes(_: Viewing) -> Sequence[BaseRoute]:
    """The page at the prefix itself, and its files by name."""
    return _routes(None)


def routes_with_choices(choices: str) -> Sequence[BaseRoute]:
    """The same where there are several recordings: the document says where the page may ask for them.

    Args:
        choices: Address of the list, relative to the page.
    """
    return _routes(choices)


def _routes(choices: str | None) -> Sequence[BaseRoute]:
    def page(request: Request) -> Response:
        return bytes_answer(request, document(choices), _FILES[_DOCUMENT])

    others = [Route(f"/{name}", partial(_file, name)) for name in _FILES if name != _DOCUMENT]
    return [Route("/", page), Route(f"/{_DOCUMENT}", page), *others]


def _file(name: str, request: Request) -> Response:
    return bytes_answer(request, asset(name), _FILES[name])
