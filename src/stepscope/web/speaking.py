"""The language of a request: what the command was told, then its locale, then what the browser's user reads."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, Final

from starlette.types import ASGIApp, Receive, Scope, Send

from stepscope.language import LANGUAGES, Said, asked, speaking, spoken, told
from stepscope.language.speech import named_by_locale

#: Values of answers that are texts of stepscope's own where they are told by their names.
_TEXTS: Final = frozenset(
    {
        "title",
        "summary",
        "message",
        "effect",
        "hint",
        "text",
        "description",
        "why",
        "question",
        "worth",
        "error",
        "what",
    }
)
#: Values that hold what a recording says, whatever their names are.
_RECORDED: Final = frozenset({"rows", "names", "numbers", "where", "short"})


class Speaking:
    """Lets an application answer each request in its language."""

    def __init__(self, app: ASGIApp, environ: Mapping[str, str] | None = None) -> None:
        """Speak for an application.

        Args:
            app: What answers.
            environ: The environment whose locale counts; this process's, as it is now, unless given.
        """
        self._app = app
        self.settled = settled(os.environ if environ is None else environ)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        accepted = next((value for name, value in scope["headers"] if name == b"accept-language"), b"")
        with speaking(self.settled or of_browser(accepted.decode("latin-1"))):
            await self._app(scope, receive, send)


def settled(environ: Mapping[str, str]) -> str | None:
    """The language that `--lang` asks for, or else the locale names; None if neither says something."""
    return spoken() if asked() else named_by_locale(environ)


def of_browser(accepted: str) -> str:
    """The one of our languages that an `Accept-Language` header puts first; English if it has none of them.

    Of languages with a quality the highest counts, of equal ones the first (RFC 9110, 12.5.4).
    """
    wanted: list[tuple[float, str]] = []
    for one in accepted.split(","):
        name, _, parameter = one.strip().partition(";")
        try:
            quality = float(parameter.strip().removeprefix("q=") or 1)
        except ValueError:
            quality = 0.0
        language = name.strip().partition("-")[0].lower()
        if quality > 0 and language in LANGUAGES:
            wanted.append((quality, language))
    return max(wanted, key=lambda one: one[0])[1] if wanted else "en"


def in_words(values: Any, name: str = "") -> Any:
    """The values of an answer in the language that is spoken: what was said, and constants that are texts by name.

    Args:
        values: JSON values; what a recording says of itself stays.
        name: What they are called in what holds them.
    """
    return values if spoken() == "en" else _told(values, name)


def _told(values: Any, name: str) -> Any:
    if isinstance(values, str):
        return told(values) if isinstance(values, Said) or name in _TEXTS else values
    if isinstance(values, dict):
        held = "" if name in _RECORDED else None
        return {key: _told(value, key if held is None else held) for key, value in values.items()}
    if isinstance(values, (list, tuple)):
        return [_told(one, name) for one in values]
    return values
