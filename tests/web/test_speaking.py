"""The language of a request, and what is told in it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from starlette.testclient import TestClient

from stepscope.language import said, speak, speaking, spoken
from stepscope.model.errors import UserError
from stepscope.model.trace import Trace
from stepscope.reports.selection import ReportOptions
from stepscope.web.answers import encoded, failed
from stepscope.web.app import create_app
from stepscope.web.routes import bundle
from stepscope.web.speaking import Speaking, in_words, of_browser
from stepscope.web.viewing import Viewing

CHINESE = {"Accept-Language": "zh-CN,zh;q=0.9,en;q=0.8"}


@pytest.fixture(autouse=True)
def _english() -> Iterator[None]:
    yield
    speak("en")


@pytest.mark.parametrize(
    ("accepted", "language"),
    [
        ("", "en"),
        ("zh-CN,zh;q=0.9,en;q=0.8", "zh"),
        ("en-US,en;q=0.9,zh;q=0.8", "en"),
        ("en;q=0.5,zh;q=0.8", "zh"),
        ("de-DE,de;q=0.9,zh;q=0.3,en;q=0.2", "zh"),
        ("de,fr;q=0.5", "en"),
        ("zh;q=0", "en"),
        ("zh;q=high, *", "en"),
    ],
)
def test_the_browser_decides_by_what_its_user_prefers(accepted: str, language: str) -> None:
    assert of_browser(accepted) == language


@pytest.mark.parametrize(
    ("asked", "environ", "languages"),
    [
        (None, {}, ["zh", "en"]),
        (None, {"LANG": "C.UTF-8"}, ["zh", "en"]),
        (None, {"LANG": "POSIX"}, ["zh", "en"]),
        (None, {"LANG": "en_US.UTF-8"}, ["en", "en"]),
        (None, {"LANG": "de_DE.UTF-8"}, ["en", "en"]),
        (None, {"LANG": "zh_CN.UTF-8"}, ["zh", "zh"]),
        ("en", {}, ["en", "en"]),
        ("en", {"LANG": "zh_CN.UTF-8"}, ["en", "en"]),
        ("zh", {"LANG": "en_US.UTF-8"}, ["zh", "zh"]),
    ],
)
def test_what_was_asked_for_and_then_the_locale_come_first(
    asked: str | None, environ: dict[str, str], languages: list[str]
) -> None:
    async def answer(request: Request) -> Response:
        return PlainTextResponse(spoken())

    if asked:
        speak(asked, asked=True)
    client = TestClient(Speaking(Starlette(routes=[Route("/", answer)]), environ))
    speak("en")  # what holds is what was asked for at the start
    assert [client.get("/", headers=one).text for one in (CHINESE, {"Accept-Language": "en-GB"})] == languages


def test_answers_tell_what_was_said_and_texts_by_name() -> None:
    step = said("idle")
    values = {
        "title": "The step waits for data", "rows": [["The step waits for data", "idle"]], "list": [step, "idle"],
        "numbers": {"text": "idle"}, "name": "idle",
    }  # fmt: skip
    assert in_words(values) is values
    with speaking("zh"):
        told = json.loads(encoded(values))
        assert told["title"] == "step 等待数据"
        assert told["list"] == ["空闲", "idle"]
        assert told["rows"] == values["rows"]
        assert (told["numbers"], told["name"]) == ({"text": "idle"}, "idle")
        error = UserError(said("{option} {language!r} is no language", option="--lang", language="xx"))
        assert "xx" in json.loads(bytes(failed(Request({"type": "http"}), error).body))["error"]
        assert "no language" not in json.loads(bytes(failed(Request({"type": "http"}), error).body))["error"]


def test_the_document_loads_the_catalogue_of_its_language_alone() -> None:
    assert bundle.document() == bundle.asset("index.html")
    with speaking("zh"):
        text = bundle.document("../choices").decode()
    assert '<html lang="zh-Hans">' in text
    assert text.index('<script src="zh.js">') < text.index('<script src="app.js">')
    assert '<body data-choices="../choices">' in text
    assert "This page needs JavaScript" not in text
    assert "Nothing more to see" not in text
    assert "zh.js" not in bundle.document("../choices").decode()


def test_the_page_of_a_trace_in_the_language_of_each_request(
    demo_trace: Trace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LC_ALL", "C.UTF-8")
    client = TestClient(create_app(demo_trace, None), base_url="http://localhost")

    def report(headers: dict[str, str]) -> Any:
        while (answer := client.get("/api/report", headers=headers)).status_code == 202:
            pass  # each language is told when it is first asked for
        return answer.json()

    english, chinese = report({}), report(CHINESE)
    assert english["findings"][0]["title"] == "The step waits for data"
    assert chinese["findings"][0]["title"] == "step 等待数据"
    assert [one["name"] for one in chinese["page"]["sections"]] == [one["name"] for one in english["page"]["sections"]]
    assert [one["title"] for one in english["page"]["sections"]] == [one["name"] for one in english["page"]["sections"]]
    assert "诊断结论" in [one["title"] for one in chinese["page"]["sections"]]
    assert "zh.js" in client.get("/", headers=CHINESE).text
    refused = client.get("/api/tables/nothing", headers=CHINESE).json()["error"]
    assert "nothing" in refused


def test_one_report_is_built_for_all_languages(demo_trace: Trace, monkeypatch: pytest.MonkeyPatch) -> None:
    from stepscope.reports.build import build_report

    built = []
    monkeypatch.setattr("stepscope.reports.build.build_report", lambda *args: built.append(1) or build_report(*args))
    viewing = Viewing(demo_trace, ReportOptions(tables=("step_budget",)))  # nobody has kept this one
    with speaking("zh"):
        chinese = viewing.whole_report().head()
    assert viewing.whole_report().head() != chinese
    with speaking("zh"):
        assert viewing.whole_report().head() == chinese
    assert built == [1]
