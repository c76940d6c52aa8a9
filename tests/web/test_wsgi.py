"""The application behind a server that speaks WSGI."""

from __future__ import annotations

import io
import json
from typing import Any
from wsgiref.validate import validator

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from stepscope.web.wsgi import wsgi


async def echo(request: Request) -> Response:
    body = {
        "method": request.method, "path": request.url.path, "query": dict(request.query_params),
        "host": request.headers.get("host"), "body": (await request.body()).decode(),
    }  # fmt: skip
    return Response(json.dumps(body), 201, {"X-Own": "é"}, "application/json")


APP = wsgi(Starlette(routes=[Route("/{path:path}", echo, methods=["GET", "POST"])]), "/data/plugin/x")


def ask(path: str, query: str = "", method: str = "GET", body: bytes = b"", length: str | None = None) -> Any:
    said: list[Any] = []
    environ = {
        "REQUEST_METHOD": method, "PATH_INFO": path.encode().decode("latin-1"), "QUERY_STRING": query,
        "SCRIPT_NAME": "", "SERVER_NAME": "localhost", "SERVER_PORT": "80", "SERVER_PROTOCOL": "HTTP/1.1",
        "HTTP_HOST": "localhost:6006", "wsgi.input": io.BytesIO(body), "wsgi.errors": io.StringIO(),
        "wsgi.version": (1, 0), "wsgi.url_scheme": "http", "wsgi.multithread": True, "wsgi.multiprocess": False,
        "wsgi.run_once": False, "CONTENT_LENGTH": str(len(body)) if length is None else length,
    }  # fmt: skip

    def start(status: str, headers: list[tuple[str, str]], _: Any = None) -> Any:
        said.append((status, dict(headers)))
        return lambda _: None

    app: Any = APP if length else validator(APP)
    answer = app(environ, start)
    content = b"".join(answer)
    getattr(answer, "close", lambda: None)()
    return *said[0], content


def test_a_request_arrives_whole() -> None:
    status, headers, body = ask("/data/plugin/x/api/é", "name=a%26b", "POST", b'{"sql": 1}')
    assert status == "201 Created"
    assert headers["x-own"] == "é"
    assert json.loads(body) == {
        "method": "POST", "path": "/api/é", "query": {"name": "a&b"}, "host": "localhost:6006", "body": '{"sql": 1}',
    }  # fmt: skip


def test_the_prefix_alone_is_the_page() -> None:
    assert json.loads(ask("/data/plugin/x")[2])["path"] == "/"


def test_a_head_has_no_body() -> None:
    status, headers, body = ask("/data/plugin/x/a", method="HEAD")
    assert (status, body) == ("201 Created", b"")
    assert int(headers["content-length"]) > 0


def test_a_length_that_is_no_number() -> None:
    assert json.loads(ask("/data/plugin/x/a", method="POST", body=b"abc", length="x")[2])["body"] == ""
