"""Who is answered, and under which policy."""

from __future__ import annotations

import pytest
from starlette.responses import PlainTextResponse
from starlette.testclient import TestClient

from stepscope.web.security import LOCAL, Guard, host_name, new_token

POLICY = "default-src 'none'; script-src 'self'"


def client(token: str | None = "secret", base: str = "http://127.0.0.1:8000", **options: object) -> TestClient:
    return TestClient(Guard(PlainTextResponse("data"), token, **options), base_url=base)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", [*LOCAL, "localhost:8080", "LOCALHOST"])
def test_this_machine_is_answered(name: str) -> None:
    assert client().get("/api/report?token=secret", headers={"Host": name}).text == "data"


@pytest.mark.parametrize(
    "name", ["evil.example", "evil.example:8000", "127.0.0.1.evil.example", "", "localhost@evil", "[::2]"]
)
def test_a_foreign_host_name_is_refused(name: str) -> None:
    answer = client().get("/?token=secret", headers={"Host": name})
    assert answer.status_code == 421
    assert "--allowed-host" in answer.json()["error"]


def test_further_names_are_answered() -> None:
    guarded = client(hosts=[*LOCAL, "Node7.cluster"])
    assert guarded.get("/", headers={"Host": "node7.cluster:80"}).text == "data"


@pytest.mark.parametrize(
    "path",
    [
        "/api/report",
        "/api/report?token=",
        "/api/report?token=secre",
        "/api/report?token=secret1",
        "//api/x",
        "/base/api/x",
    ],
)
def test_data_is_refused_without_the_token(path: str) -> None:
    answer = client().get("http://127.0.0.1:8000" + path)
    assert answer.status_code == 403
    assert "token" in answer.json()["error"]


def test_the_token_in_a_header() -> None:
    asked = client()
    assert asked.get("/api/report", headers={"Authorization": "Bearer secret"}).text == "data"
    assert asked.get("/api/report", headers={"Authorization": "Bearer wrong"}).status_code == 403
    assert asked.get("/api/report", headers={"Authorization": "Bearer s\xe9cret".encode("latin-1")}).status_code == 403


def test_the_page_itself_needs_none_and_a_guarded_server_neither() -> None:
    assert client().get("/app.js").text == "data"
    assert client(token=None).get("/api/report").text == "data"


@pytest.mark.parametrize("method", ["PUT", "DELETE", "OPTIONS", "PATCH"])
def test_nothing_can_be_changed(method: str) -> None:
    assert client().request(method, "/api/report?token=secret").status_code == 405


def test_every_answer_has_the_policy_and_none_admits_other_origins() -> None:
    for path in ("/", "/api/report", "/api/report?token=secret"):
        headers = client().get(path).headers
        assert headers["content-security-policy"].startswith(POLICY)
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert not [name for name in headers if name.startswith("access-control")]


def test_frames_of_other_pages_only_where_asked_for() -> None:
    assert client().get("/").headers["content-security-policy"].endswith("frame-ancestors 'self'")
    framed = client(ancestors=["http://localhost:8888"]).get("/").headers["content-security-policy"]
    assert framed.endswith("frame-ancestors 'self' http://localhost:8888")


def test_tokens_differ_and_are_long() -> None:
    assert new_token() != new_token()
    assert len(new_token()) >= 32


@pytest.mark.parametrize(
    ("host", "name"),
    [("a:1", "a"), ("a", "a"), ("[::1]:80", "[::1]"), ("[::1]", "[::1]"), (":80", ":80"), ("A:b", "a:b")],
)
def test_host_names(host: str, name: str) -> None:
    assert host_name(host) == name
