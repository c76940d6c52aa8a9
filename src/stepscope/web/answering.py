"""Ask the application in this process, without a server."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import unquote, urlsplit

from starlette.types import ASGIApp, Message, Scope

from stepscope.web.app import application
from stepscope.web.viewing import Viewing


def answers_of(viewing: Viewing, addresses: Iterable[str]) -> Iterator[tuple[str, bytes, str]]:
    """The answer to each address such as `api/flame?rank=0`, and its media type; without those that fail."""
    app = application(viewing)
    # In a thread of its own: a notebook's has a running event loop.
    with ThreadPoolExecutor(1, thread_name_prefix="stepscope-answers") as executor:
        for address in addresses:
            try:
                status, media_type, body = executor.submit(asyncio.run, _answer(app, address)).result()
            except Exception:
                continue  # the page says that the file does not hold it
            if status == 200:
                yield address, body, media_type


async def _answer(app: ASGIApp, address: str) -> tuple[int, str, bytes]:
    parts = urlsplit(address)
    scope: Scope = {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": "GET", "scheme": "http",
        "path": "/" + unquote(parts.path), "raw_path": b"/" + parts.path.encode(), "root_path": "",
        "query_string": parts.query.encode(), "headers": [], "client": None, "server": None,
    }  # fmt: skip
    status, media_type, body = 0, "", b""

    async def receive() -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Message) -> None:
        nonlocal status, media_type, body
        if message["type"] == "http.response.start":
            status = message["status"]
            media_type = dict(message["headers"]).get(b"content-type", b"").decode().partition(";")[0]
        else:
            body += message.get("body", b"")

    await app(scope, receive, send)
    return status, media_type, body
