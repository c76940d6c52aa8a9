"""Ask the application in this process, without a server."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

from starlette.types import ASGIApp, Message, Scope

from stepscope.web.app import application
from stepscope.web.viewing import Viewing


@dataclass(frozen=True, slots=True)
class WholeAnswer:
    """What the application answers: status, headers as they are sent, and the whole body."""

    status: int
    headers: tuple[tuple[bytes, bytes], ...]
    body: bytes


class Asking:
    """Asks an application; several threads may do so at a time.

    Its event loop runs in a thread of its own: a notebook's thread has a running one, that of another server none.

    Args:
        app: What is asked. Its answers are gathered whole.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="stepscope-answers", daemon=True)
        self._thread.start()

    def ask(
        self,
        path: str,
        query: bytes = b"",
        method: str = "GET",
        headers: Sequence[tuple[bytes, bytes]] = (),
        body: bytes = b"",
        root: str = "",
    ) -> WholeAnswer:
        """The answer to one request; `path` is unquoted and begins with `root`, the prefix that the application has."""
        scope: Scope = {
            "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": method, "scheme": "http",
            "path": path, "raw_path": path.encode(), "root_path": root, "query_string": query,
            "headers": list(headers), "client": None, "server": None,
        }  # fmt: skip
        return asyncio.run_coroutine_threadsafe(_answer(self._app, scope, body), self._loop).result()

    def close(self) -> None:
        """End the thread; nothing may be asked afterwards."""
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


def answers_of(viewing: Viewing, addresses: Iterable[str]) -> Iterator[tuple[str, bytes, str]]:
    """The answer to each address such as `api/flame?rank=0`, and its media type; without those that fail."""
    asking = Asking(application(viewing))
    try:
        for address in addresses:
            parts = urlsplit(address)
            try:
                answer = asking.ask("/" + unquote(parts.path), parts.query.encode())
            except Exception:
                continue  # the page says that the file does not hold it
            if answer.status == 200:
                media_type = dict(answer.headers).get(b"content-type", b"").decode().partition(";")[0]
                yield address, answer.body, media_type
    finally:
        asking.close()


async def _answer(app: ASGIApp, scope: Scope, body: bytes) -> WholeAnswer:
    status, headers, parts = 500, (), list[bytes]()

    async def receive() -> Message:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: Message) -> None:
        nonlocal status, headers
        if message["type"] == "http.response.start":
            status, headers = message["status"], tuple(message["headers"])
        else:
            parts.append(message.get("body", b""))

    await app(scope, receive, send)
    return WholeAnswer(status, headers, b"".join(parts))
