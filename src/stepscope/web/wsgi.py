"""The application for servers that speak WSGI, such as TensorBoard's."""

from __future__ import annotations

from collections.abc import Iterable
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final

from starlette.types import ASGIApp

from stepscope.web.answering import Asking

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication

#: A request may bring so much: a query is the longest there is.
_MOST_BYTES: Final = 1 << 20


def wsgi(app: ASGIApp, prefix: str = "") -> WSGIApplication:
    """An application that answers as `app` does.

    Args:
        app: What answers.
        prefix: Where the other server puts it, which is left out of the paths that `app` sees.
    """
    asking = Asking(app)

    def answer(environ: dict[str, Any], start_response: StartResponse) -> Iterable[bytes]:
        # Servers give the bytes of a path as Latin-1 (PEP 3333).
        path = str(environ.get("PATH_INFO", "")).encode("latin-1").decode("utf-8", "replace")
        found = asking.ask(
            path.removeprefix(prefix) or "/", str(environ.get("QUERY_STRING", "")).encode("latin-1"),
            str(environ["REQUEST_METHOD"]), _headers(environ), _body(environ),
        )  # fmt: skip
        headers = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in found.headers]
        start_response(f"{found.status} {HTTPStatus(found.status).phrase}", headers)
        return [b"" if environ["REQUEST_METHOD"] == "HEAD" else found.body]

    return answer


def _headers(environ: dict[str, Any]) -> list[tuple[bytes, bytes]]:
    return [
        (name.removeprefix("HTTP_").replace("_", "-").lower().encode(), str(value).encode("latin-1"))
        for name, value in environ.items()
        if (name.startswith("HTTP_") or name == "CONTENT_TYPE") and value
    ]


def _body(environ: dict[str, Any]) -> bytes:
    length = str(environ.get("CONTENT_LENGTH") or 0)
    if not length.isdigit():
        return b""
    body: bytes = environ["wsgi.input"].read(min(int(length), _MOST_BYTES))
    return body
