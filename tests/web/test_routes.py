"""What the server answers, in process."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from starlette.testclient import TestClient

from stepscope.demo import recording
from stepscope.ingest import Options, open_trace
from stepscope.model.trace import Trace
from stepscope.reports.build import build_report
from stepscope.reports.json import lines
from stepscope.web.app import create_app


@pytest.fixture(scope="module")
def trace() -> Iterator[Trace]:
    with recording() as path, open_trace(path, Options(cache=False, locked=True)) as found:
        yield found


@pytest.fixture(scope="module")
def client(trace: Trace) -> TestClient:
    return TestClient(create_app(trace, None), base_url="http://localhost")


@pytest.fixture(scope="module")
def expected(trace: Trace) -> Any:
    return json.loads("".join(lines(build_report(trace))))


def report(client: TestClient) -> Any:
    while (answer := client.get("/api/report")).status_code == 202:
        assert set(answer.json()["progress"]) == {"what", "done", "total"}
    assert answer.status_code == 200
    return answer.json()


def test_the_report_without_rows(client: TestClient, expected: Any) -> None:
    found = report(client)
    for key in set(expected) - {"tables"}:
        assert found[key] == expected[key]
    counts = {name: table["count"] for name, table in found["tables"].items()}
    assert counts == {name: len(table["rows"]) for name, table in expected["tables"].items()}
    assert not any("rows" in table for table in found["tables"].values())
    kinds = {block["kind"] for section in found["page"]["sections"] for block in section["blocks"]}
    assert kinds == {"grid", "bars", "line", "item"}


def test_every_table_as_in_the_json_report(client: TestClient, expected: Any) -> None:
    for name, table in expected["tables"].items():
        assert client.get(f"/api/tables/{name}").json() == table


def test_an_unknown_table_is_a_sentence(client: TestClient) -> None:
    answer = client.get("/api/tables/kernel")
    assert answer.status_code == 422
    assert answer.json() == {"error": "the report has no table called 'kernel'", "hint": answer.json()["hint"]}
    assert "kernels" in answer.json()["hint"]
    assert client.get("/api/tables/..%2f..%2fetc%2fpasswd").status_code in (404, 422)


def test_what_a_browser_has_is_not_sent_again(client: TestClient) -> None:
    first = client.get("/api/tables/kernels")
    again = client.get("/api/tables/kernels", headers={"If-None-Match": first.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    assert client.get("/api/tables/operators", headers={"If-None-Match": first.headers["etag"]}).status_code == 200


def test_the_bundle(client: TestClient) -> None:
    assert client.get("/").content == client.get("/index.html").content
    for name, kind in (("app.js", "text/javascript"), ("app.css", "text/css"), ("LICENSES.txt", "text/plain")):
        answer = client.get(f"/{name}")
        assert answer.headers["content-type"].startswith(kind)
        assert answer.content
    assert client.get("/app.js.map").status_code == 404
    assert client.get("/..%2fapp.py").status_code == 404
