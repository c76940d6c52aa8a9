"""What the server answers, in process."""

from __future__ import annotations

import asyncio
import json
import re
from typing import Any

import pytest
from starlette.requests import Request
from starlette.testclient import TestClient
from starlette.types import Message

from stepscope.language import speaking
from stepscope.model.errors import UserError
from stepscope.model.tables import TABLES
from stepscope.model.trace import Trace
from stepscope.reports.build import build_report
from stepscope.reports.json import lines
from stepscope.rules import remedies
from stepscope.rules.registry import all_rules
from stepscope.store.queried import answer
from stepscope.web.app import create_app
from stepscope.web.asked import BadRequestError, BusyError, posted
from stepscope.web.routes import query
from stepscope.web.routes.flame import largest_frames
from stepscope.web.routes.guide import words_on
from stepscope.web.routes.query import in_turn
from support import Facts


@pytest.fixture(scope="module")
def trace(demo_trace: Trace) -> Trace:
    return demo_trace


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
    # What each rule decided by is beside its findings, with the reason.
    assert set(found["thresholds"]) == {one["code"] for one in expected["findings"]}
    limits = {name for one in expected["findings"] for name in one["evidence"]["numbers"]}
    for code, thresholds in found["thresholds"].items():
        assert all(one["why"] and one["unit"] for one in thresholds.values()), code
        assert limits & set(thresholds), code
    kinds = {block["kind"] for section in found["page"]["sections"] for block in section["blocks"]}
    assert kinds == {"grid", "bars", "line", "item"}


def test_every_table_as_in_the_json_report(client: TestClient, expected: Any) -> None:
    for name, table in expected["tables"].items():
        found = client.get(f"/api/tables/{name}").json()
        assert {key: value for key, value in found.items() if key != "short"} == table
        assert all(len(short) <= len(name) for name, short in found.get("short", {}).items())


def test_every_execution_of_a_kernel(client: TestClient, trace: Trace) -> None:
    name = trace.scalar("SELECT name FROM kernels WHERE kind = 'compute' GROUP BY name ORDER BY count(*) DESC LIMIT 1")
    found = client.get("/api/executions", params={"name": name}).json()
    rows = [dict(zip((c["name"] for c in found["columns"]), row, strict=True)) for row in found["rows"]]
    expected = trace.rows("SELECT event, dur FROM kernels WHERE name = $n ORDER BY dur DESC, event", {"n": name})
    assert [(row["event"], row["dur"]) for row in rows] == [(row["event"], row["dur"]) for row in expected]
    assert found["count"] == len(rows)
    assert all(row["wait_ns"] > 0 and row["operator"].startswith("aten::") for row in rows)


def test_an_unknown_kernel_or_rank(client: TestClient) -> None:
    assert client.get("/api/executions?name=none").json()["rows"] == []
    for rank in ("7", "x", "99999999999999999999", "1e3"):
        assert client.get(f"/api/executions?name=a&rank={rank}").status_code == 422


@pytest.mark.parametrize("time", ["host", "device"])
def test_frames_add_up(client: TestClient, trace: Trace, time: str) -> None:
    found = client.get(f"/api/flame?time={time}").json()
    below = [0] * len(found["name"])
    for i, parent in enumerate(found["parent"]):
        assert parent < i
        if parent >= 0:
            below[parent] += found["total_ns"][i]
    assert all(
        total == own + inner for total, own, inner in zip(found["total_ns"], found["self_ns"], below, strict=True)
    )
    if time == "device":
        whole = sum(total for total, parent in zip(found["total_ns"], found["parent"], strict=True) if parent < 0)
        assert whole == trace.scalar("SELECT sum(dur)::BIGINT FROM kernels WHERE kind <> 'sync'")


def test_few_frames_are_the_largest(trace: Trace) -> None:
    few = largest_frames(trace, "device", most=5)
    assert len(few["name"]) == 5
    assert sorted(few["total_ns"]) == sorted(largest_frames(trace, "device")["total_ns"])[-5:]


def test_kernels_that_differ_in_parameters_alone_are_one_name() -> None:
    facts = Facts()
    for ts, dur, kind in ((0, 5, "float"), (10, 9, "double")):
        facts.kernel(f"void at::sum<{kind}>({kind}*)", ts, dur)
    found = largest_frames(facts.trace(), "device")
    [name] = found["names"]
    assert (found["name"], found["whole"]) == ([0, 0], {name: "void at::sum<double>(double*)"})


def ask(client: TestClient, sql: object) -> Any:
    return client.post("/api/query", json={"sql": sql})


def test_a_query(client: TestClient, trace: Trace) -> None:
    sql = "SELECT id, dur, name FROM events ORDER BY id LIMIT 2"
    found = ask(client, sql).json()
    assert [column["unit"] for column in found["columns"]] == ["", "ns", ""]
    assert found["rows"] == [
        list(row.values()) for row in trace.rows("SELECT id, dur, name FROM events ORDER BY id LIMIT 2")
    ]
    assert not found["more"]


@pytest.mark.parametrize(
    "sql",
    ["", "SELEC 1", "SELECT 1; SELECT 2", "DROP TABLE events", "SELECT * FROM read_csv('/etc/passwd')", 7, None,
     "SELECT * FROM '/etc/passwd'", "COPY events TO '/tmp/x'", "SET memory_limit = '1GB'",
     "SELECT nothing FROM events"],
)  # fmt: skip
def test_a_query_that_is_refused_is_a_sentence(client: TestClient, sql: object) -> None:
    answer = ask(client, sql)
    assert answer.status_code == 422
    assert answer.json()["error"]


def test_a_query_ends_at_its_limits(trace: Trace) -> None:
    few = answer(trace, "SELECT * FROM range(100)", most=10)
    assert (len(few["rows"]), few["more"]) == (10, True)
    with pytest.raises(UserError, match="stopped after"):
        answer(trace, "SELECT count(*) FROM range(100000000000)", seconds=0.2)


def test_a_query_may_use_so_much_memory(trace: Trace) -> None:
    with pytest.raises(UserError, match="more memory than 200 MB"):
        answer(trace, "SELECT repeat('x', 1000000000)", memory_mb=200)
    assert answer(trace, "SELECT 1 AS one")["rows"] == [[1]], "the limit is taken back"


def test_of_many_queries_at_once_few_run_and_others_wait_so_long() -> None:
    async def asked(turns: asyncio.Semaphore, seconds: float) -> str:
        try:
            async with in_turn(turns, patience_s=0.2):
                await asyncio.sleep(seconds)
        except BusyError as error:
            return error.message
        return "answered"

    async def many(seconds: float) -> list[str]:
        turns = asyncio.Semaphore(2)
        return list(await asyncio.gather(*(asked(turns, seconds) for _ in range(6)), asked(turns, 0)))

    assert asyncio.run(many(0)) == ["answered"] * 7
    assert asyncio.run(many(2.0)) == ["answered"] * 2 + ["the server is busy with other queries"] * 5


def test_a_busy_server_says_so(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    def busy(*_: object) -> None:
        raise BusyError("the server is busy with other queries")

    monkeypatch.setattr(query, "answer", busy)
    assert ask(client, "SELECT 1").status_code == 503


def test_long_values_of_a_query_are_cut(trace: Trace) -> None:
    found = answer(trace, "SELECT repeat('x', 100000) AS text, range(100000) AS list, [1, 2] AS few")
    [[text, numbers, few]] = found["rows"]
    assert (len(text), len(numbers), few) == (20_000, 20_000, [1, 2])
    many = answer(trace, "SELECT repeat('x', 20000) AS text FROM range(2000)")
    assert (len(many["rows"]), many["more"]) == (800, True), "16 million characters are sent"


@pytest.mark.parametrize("body", [b"", b"{", b"[" * 200_000, b"\xff", b'{"sql": }'])
def test_a_body_that_is_no_json_is_a_sentence(client: TestClient, body: bytes) -> None:
    found = client.post("/api/query", content=body)
    assert (found.status_code, found.json()["error"]) == (400, "the request is no JSON")


def test_a_body_that_is_too_long_is_not_read() -> None:
    read = 0

    async def receive() -> Message:
        nonlocal read
        read += 65_536
        return {"type": "http.request", "body": b" " * 65_536, "more_body": True}

    request = Request({"type": "http", "method": "POST", "headers": []}, receive)
    with pytest.raises(BadRequestError, match="a request may bring 600,000 bytes"):
        asyncio.run(posted(request, 600_000))
    assert read < 700_000


def test_the_schema(client: TestClient) -> None:
    assert [table["name"] for table in client.get("/api/schema").json()["tables"]] == [table.name for table in TABLES]


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


def test_every_rule_and_every_remedy_can_be_read() -> None:
    for name in (*all_rules(), *remedies.names()):
        found = words_on(name)
        assert found["title"]
        assert found["html"].count("<h2>") >= 3, name
        assert "<script" not in found["html"]
        for other in re.findall(r'href="#/guide\?read=([^"]+)"', found["html"]):
            assert words_on(other)["title"], (name, other)


def test_pages_are_in_the_language_that_is_spoken() -> None:
    with speaking("zh"):
        for name in ("COM008", "amp", *remedies.names()):
            found = words_on(name)
            assert re.search(r"[\u4e00-\u9fff]", found["title"] + found["html"]), name
            assert "source:" not in found["title"] + found["html"]


def test_there_is_no_page_on_what_is_neither() -> None:
    with pytest.raises(UserError, match="there is no page on"):
        words_on("../../etc/passwd")
