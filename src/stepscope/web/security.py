"""Who may ask the server, and what a browser may do with its answers."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from typing import Final
from urllib.parse import parse_qs

from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

#: Names under which a browser on this machine asks; another name means that a foreign page had its own name resolve to
#: this machine (DNS rebinding).
LOCAL: Final = ("localhost", "127.0.0.1", "[::1]")
#: Everything comes from this server; nothing else is loaded, asked, sent to or run.
_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors {ancestors}"
)
_HEADERS: Final = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
}


def new_token() -> str:
    """A token that can't be guessed, of characters that need no escape in an address."""
    return secrets.token_urlsafe(24)


class Guard:
    """Refuses requests under a foreign host name, of other methods, or to data without the token; sets the policy.

    The built page itself holds nothing of a recording and needs no token; everything below an `api/` does.
    """

    def __init__(
        self,
        app: ASGIApp,
        token: str | None,
        hosts: Sequence[str] | None = LOCAL,
        ancestors: Sequence[str] = (),
        advice: str = "see --allowed-host",
    ) -> None:
        """Guard an application.

        Args:
            app: What to guard.
            token: Asked for below `api/`, as `Authorization: Bearer TOKEN` or `?token=TOKEN`; None for no token, where
                another server has let the request through.
            hosts: Names of this server, without port; None for any.
            ancestors: Origins whose pages may show this one in a frame, besides its own.
            advice: What to do where a host name is refused.
        """
        self._advice = advice
        self._app = app
        self._token = token
        self._hosts = None if hosts is None else frozenset(host_name(host) for host in hosts)
        policy = _POLICY.format(ancestors=" ".join(("'self'", *ancestors)))
        headers = {**_HEADERS, "Content-Security-Policy": policy}
        self._headers = [(name.lower().encode(), value.encode()) for name, value in headers.items()]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": [*message.get("headers", []), *self._headers]}
            await send(message)

        refusal = self._refusal(scope)
        await (self._app if refusal is None else refusal)(scope, receive, with_headers)

    def _refusal(self, scope: Scope) -> JSONResponse | None:
        headers = {name: value.decode("latin-1") for name, value in scope["headers"]}
        if self._hosts is not None and host_name(headers.get(b"host", "")) not in self._hosts:
            return _refused(421, f"this server does not answer under that host name; {self._advice}")
        if scope["method"] not in ("GET", "HEAD", "POST"):
            return _refused(405, "this server only answers questions")
        path = scope["path"].removeprefix(scope.get("root_path", ""))
        # Pages of comparisons have those of both recordings below them: `base/api/report`.
        if self._token is not None and "api" in path.split("/") and not self._knows(scope, headers):
            return _refused(403, "the token is missing or wrong; open the address that `stepscope view` printed")
        return None

    def _knows(self, scope: Scope, headers: dict[bytes, str]) -> bool:
        given = headers.get(b"authorization", "").removeprefix("Bearer ")
        if not given:
            given = parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])[0]
        return secrets.compare_digest(given.encode(), (self._token or "").encode())


def host_name(host: str) -> str:
    """A `Host` header without its port: `localhost:8080` gives `localhost`, `[::1]:80` gives `[::1]`."""
    name, _, port = host.rpartition(":")
    return (name if name and port.isdigit() else host).lower()


def _refused(status: int, message: str) -> JSONResponse:
    return JSONResponse({"error": message}, status)
