"""What is answered where there are several recordings."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from stepscope.reports.build import ReportOptions
from stepscope.web.runs.app import runs_application
from stepscope.web.runs.chosen import Chosen
from stepscope.web.runs.finding import Finder
from stepscope.web.runs.opened import OpenedRuns
from stepscope.web.runs.watching import Watching
from web.runs.recorded import recorded


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    folder = tmp_path / "logs"
    for rank in range(2):
        for span, ts in enumerate((1_000, 9_000_000)):
            name = f"host_{rank}.170000000000{span}.pt.trace.json"
            recorded(folder / "job" / name, rank, ts, ranks=2)
    (folder / "bad").mkdir()
    (folder / "bad" / "host_7.1700000000000.pt.trace.json").write_text("cut off")
    return folder


@pytest.fixture
def runs(logs: Path, tmp_path: Path) -> Iterator[OpenedRuns]:
    options = ReportOptions(tables=("step_budget",))  # what a report has is tested elsewhere
    found = OpenedRuns(Watching(Finder(logs), fresh=0), tmp_path / "store", lambda: options, most=2)
    yield found
    found.close()


@pytest.fixture
def client(runs: OpenedRuns) -> TestClient:
    return TestClient(runs_application(runs), base_url="http://localhost")


def offered(client: TestClient, of: str = "") -> Any:
    return client.get(f"/api/choices?of={of}").json()


def key(client: TestClient, name: str) -> str:
    return next(one["address"] for one in offered(client)["runs"] if one["name"] == name)


def report(client: TestClient, chosen: str) -> Any:
    end = time.monotonic() + 60
    while (answer := client.get(f"/runs/{chosen}/api/report")).status_code == 202:
        assert set(answer.json()["progress"]) == {"what", "done", "total"}
        assert time.monotonic() < end
        time.sleep(0.01)
    return answer.json()


@pytest.mark.parametrize(
    "chosen", [Chosen("0" * 16), Chosen("a" * 16, 2), Chosen("a" * 16, None, 3), Chosen("b" * 16, 1, 0)]
)
def test_what_is_chosen_in_an_address(chosen: Chosen) -> None:
    assert Chosen.of(str(chosen)) == chosen


@pytest.mark.parametrize(
    "text", ["", "..", "logs", "0" * 15, "0" * 16 + "/", "0" * 16 + ".span", "0" * 16 + ".rank1.span1"]
)
def test_what_is_no_choice(text: str) -> None:
    assert Chosen.of(text) is None


def test_runs_are_offered_without_paths_in_addresses(client: TestClient, logs: Path) -> None:
    found = offered(client)
    assert [(one["name"], one["recordings"], one["error"]) for one in found["runs"]] == [("bad", 1, ""), ("job", 4, "")]
    assert (found["folder"], found["more"], found["run"]) == (str(logs), False, None)
    assert all(Chosen.of(one["address"]) for one in found["runs"])
    recorded(logs / "new" / "one.json")
    assert [one["name"] for one in offered(client)["runs"]] == ["bad", "job", "new"]


def test_the_page_says_where_the_choices_are(client: TestClient) -> None:
    job = key(client, "job")
    assert 'data-choices="api/choices"' in client.get("/").text
    page = client.get(f"/runs/{job}/")
    assert 'data-choices="../../api/choices"' in page.text
    assert page.headers["content-type"].startswith("text/html")
    assert client.get(f"/runs/{job}/app.js").content == client.get("/app.js").content


def test_a_run_its_spans_and_workers(client: TestClient) -> None:
    job = key(client, "job")
    assert offered(client, job)["spans"] == []
    whole = report(client, job)
    assert [one["rank"] for one in whole["source"]] == [0, 1]
    found = offered(client, job)
    assert found["run"] == job
    assert [(one["name"], one["chosen"]) for one in found["spans"]] == [("1", False), ("2", True)]
    assert [(one["name"], one["chosen"]) for one in found["workers"]] == [
        ("all", True),
        ("rank 0", False),
        ("rank 1", False),
    ]
    first, worker = found["spans"][0]["address"], found["workers"][2]["address"]
    assert [one["rank"] for one in report(client, worker)["source"]] == [1]
    assert ".1700000000000." in report(client, first)["source"][0]["source"]
    assert ".1700000000001." in whole["source"][0]["source"]
    assert client.get(f"/runs/{job}/api/timeline").json()["tracks"]
    assert client.get(f"/runs/{job}.rank7/api/report").json()["error"] == "the recording has no rank 7"


def test_what_can_not_be_read_says_so(client: TestClient) -> None:
    bad = key(client, "bad")
    assert "is text that is no recording" in report(client, bad)["error"]
    assert client.get(f"/runs/{bad}/api/report").status_code == 422
    assert "is text that is no recording" in next(
        one["error"] for one in offered(client)["runs"] if one["name"] == "bad"
    )


@pytest.mark.parametrize("chosen", ["0" * 16, "nothing", "..."])
def test_what_is_not_there(client: TestClient, chosen: str) -> None:
    answer = client.get(f"/runs/{chosen}/api/report")
    assert (answer.status_code, answer.json()["error"]) == (422, "there is no such run")


def test_changed_files_are_read_when_the_page_is_loaded(client: TestClient, logs: Path) -> None:
    path = recorded(logs / "one" / "trace.json")
    one = key(client, "one")
    assert report(client, one)["source"][0]["events"] == 2
    text = path.read_text()
    event = '{"ph": "X", "cat": "cpu_op", "name": "aten::t", "pid": 1, "tid": 1, "ts": 900, "dur": 5}, '
    path.write_text(text.replace('"traceEvents": [', f'"traceEvents": [{event}'))
    assert report(client, one)["source"][0]["events"] == 2
    client.get(f"/runs/{one}/")
    assert report(client, one)["source"][0]["events"] == 3


def test_the_one_not_asked_for_longest_is_closed(client: TestClient, runs: OpenedRuns, logs: Path) -> None:
    for name in "abc":
        recorded(logs / name / "trace.json")
    keys = [key(client, name) for name in "abc"]
    report(client, keys[0])
    first = runs.known(Chosen(keys[0]))
    assert first is not None
    trace = first.trace
    for one in keys[1:]:
        report(client, one)
    assert [runs.known(Chosen(one)) is None for one in keys] == [True, False, False]
    assert trace is not None
    assert trace.closed
    assert report(client, keys[0])["source"][0]["events"] == 2
