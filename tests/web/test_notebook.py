"""The page in a frame of a notebook."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

import stepscope
from stepscope.web.notebook import place
from web.runs.recorded import recorded


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("notebook")
    for rank in range(2):
        recorded(folder / "job" / f"rank{rank}.json", rank, ranks=2)
    return folder


@pytest.fixture
def trace(job: Path) -> Iterator[stepscope.Trace]:
    with stepscope.open(job / "job", store=job / "store") as found:
        yield found


def asked(address: str, path: str = "") -> tuple[int, bytes]:
    with urlopen(address.replace("?", f"{path}?")) as answer:
        return answer.status, answer.read()


def test_it_is_served_until_the_trace_is_closed(trace: stepscope.Trace) -> None:
    page = trace.view(height=600)
    assert page._repr_html_() == (
        f'<iframe src="{page.address}" title="stepscope" width="100%" height="600" style="border: 0"></iframe>'
    )
    status, body = asked(page.address)
    assert (status, b'<div id="page">' in body) == (200, True)
    assert len(json.loads(asked(page.address, "api/timeline")[1])["ranks"]) == 2
    trace.close()
    assert page.closed
    assert "closed" in page._repr_html_()
    with closing(socket.socket()) as found:
        assert found.connect_ex(("127.0.0.1", page.port)) != 0


def test_a_part_ends_with_the_whole(trace: stepscope.Trace) -> None:
    page = trace.rank(1).view()
    assert [one["rank"] for one in json.loads(asked(page.address, "api/timeline")[1])["ranks"]] == [1]
    trace.close()
    assert page.closed


def test_a_page_alone_is_closed(trace: stepscope.Trace) -> None:
    first, second = trace.view(), trace.view()
    first.close()
    assert (first.closed, second.closed) == (True, False)
    assert asked(second.address)[0] == 200


def refusal(asked: str | Request) -> int:
    """The status with which a request is refused."""
    with pytest.raises(HTTPError) as refused:
        urlopen(asked)
    refused.value.close()
    return refused.value.code


def test_who_may_ask_and_show_it(trace: stepscope.Trace) -> None:
    page = trace.view()
    assert refusal(page.address.split("?")[0] + "api/timeline") == 403
    assert refusal(Request(page.address, headers={"Host": "evil.example"})) == 421
    with urlopen(page.address) as answer:
        assert "frame-ancestors 'self' http://localhost:* " in answer.headers["Content-Security-Policy"]


def test_sql_in_the_page_reaches_the_trace_alone(trace: stepscope.Trace, tmp_path: Path) -> None:
    page = trace.view()

    def query(sql: str) -> bytes:
        with urlopen(Request(page.address.replace("?", "api/query?"), json.dumps({"sql": sql}).encode())) as answer:
            body: bytes = answer.read()
            return body

    assert json.loads(query("SELECT count(*) FROM events"))["rows"] == [[4]]
    (tmp_path / "secret.csv").write_text("a\n1\n")
    with pytest.raises(HTTPError, match="422") as refused:
        query(f"SELECT * FROM read_csv('{tmp_path}/secret.csv')")
    refused.value.close()
    assert trace.sql(f"SELECT * FROM read_csv('{tmp_path}/secret.csv')").num_rows == 1


def test_behind_a_proxy(trace: stepscope.Trace) -> None:
    page = trace.view(address="/proxy/{port}/")
    token = page.address.split("?")[1]
    assert page.address == f"/proxy/{page.port}/?{token}"
    own = f"http://127.0.0.1:{page.port}/?{token}"
    with urlopen(Request(own, headers={"Host": "hub.example"})) as answer:
        assert answer.status == 200


def test_a_closed_trace_has_no_page(trace: stepscope.Trace) -> None:
    trace.close()
    with pytest.raises(stepscope.UserError):
        trace.view()


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({}, "http://127.0.0.1:{port}/"),
        ({"JUPYTERHUB_SERVICE_PREFIX": "/user/ada/"}, "/user/ada/proxy/{port}/"),
        ({"JUPYTERHUB_SERVICE_PREFIX": "/user/ada/", "STEPSCOPE_VIEW_ADDRESS": "/p/{port}/"}, "/p/{port}/"),
        ({"COLAB_RELEASE_TAG": "release"}, None),
    ],
)
def test_where_the_browser_finds_it(environ: dict[str, str], expected: str | None) -> None:
    assert place(environ) == expected


def test_colab_is_asked_for_the_address(trace: stepscope.Trace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLAB_RELEASE_TAG", "release")
    page = trace.view()
    html = page._repr_html_()
    assert f"google.colab.kernel.proxyPort({page.port}, {{cache: true}})" in html
    assert f'<iframe id="stepscope-{page.port}" title="stepscope"' in html
