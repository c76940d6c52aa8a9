"""The page as one file: complete, safe, small enough to be mailed, and readable without a script."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from pathlib import Path
from typing import Any

import pytest

import browser
from report_support import HOSTILE
from stepscope.language import speaking
from stepscope.model.trace import Trace
from stepscope.reports.build import build_report
from stepscope.reports.report import Report
from stepscope.web import saved
from support import Facts


@pytest.fixture(scope="module")
def demo(demo_trace: Trace) -> tuple[Report, Trace]:
    return build_report(demo_trace), demo_trace


@pytest.fixture(scope="module")
def text(demo: tuple[Report, Trace]) -> str:
    return saved.document(*demo)


def data(text: str) -> Any:
    [found] = re.findall('<script type="application/json" id="stepscope-data">(.*?)</script>', text, re.DOTALL)
    return json.loads(found)


def hashed(content: str) -> str:
    return base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()


def test_what_the_page_would_ask_for_is_inside(text: str, demo: tuple[Report, Trace]) -> None:
    inside = data(text)
    full = {name for name, table in demo[0].tables.items() if len(table)}
    assert {f"api/tables/{name}" for name in full} <= set(inside)
    assert {"api/report", "api/flame?time=device&rank=0", "api/flame?time=host&rank=0"} <= set(inside)
    assert inside["api/tables/kernels"]["rows"] == [list(row) for row in demo[0].table("kernels").rows()]


def test_the_policy_admits_its_own_script_and_styles_alone(text: str) -> None:
    [policy] = re.findall('http-equiv="Content-Security-Policy" content="([^"]*)"', text)
    [script] = re.findall("<script>(.*?)</script>", text, re.DOTALL)
    assert f"script-src &#x27;sha256-{hashed(script)}&#x27;;" in policy
    for style in re.findall("<style>(.*?)</style>", text, re.DOTALL):
        assert hashed(style) in policy
    assert policy.startswith("default-src &#x27;none&#x27;; ")
    assert "unsafe" not in policy
    assert not re.search(r'(src|href)="?(https?:)?//', text)


def test_it_keeps_within_its_bytes(text: str, demo: tuple[Report, Trace]) -> None:
    assert len(text.encode()) < saved.MOST_BYTES
    least = len(saved.document(*demo, most=0).encode())
    small = saved.document(*demo, most=least + 200_000)
    assert least < len(small.encode()) <= least + 200_000 < len(text.encode())
    assert "api/report" in data(small)


def test_without_a_script_it_can_be_read(text: str) -> None:
    plain = text[text.index('<div id="page">') : text.index('<script type="application/json"')]
    assert "The step waits for data" in plain
    assert plain.count("<details id=") > 20


def test_it_opens_from_disk_and_asks_for_nothing(chromium: browser.Browser, text: str, tmp_path: Path) -> None:
    file = tmp_path / "report.html"
    file.write_text(text, encoding="utf-8")
    page = chromium.page(file, 1280)
    page.eventually("document.querySelector('.shell main h1')?.textContent === 'demo/job.json.gz'")
    page.run("location.hash = '#/kernels'")
    page.eventually("document.querySelectorAll('.table tbody tr').length > 20")
    page.run("location.hash = '#/flame'")
    page.eventually("!!document.querySelector('.flame canvas')")
    # Of an event it has what is drawn, and says so; a step has its time in a table.
    page.run("location.hash = '#/timeline'")
    page.eventually("window.stepscopeTimeline?.store.pending === 0 && stepscopeTimeline.stats.drawn > 0", 30)
    page.run("document.querySelector('.tl-main').focus()")
    page.press("Enter")
    page.eventually("document.querySelector('.tl-panel [role=status]')?.textContent.startsWith('This file holds')")
    page.run("location.hash = '#/timeline?rank=0&step=2'")
    page.eventually("stepscopeTimeline.range.value !== null")
    assert page.complaints() == []
    assert [one for one in page.requested() if not one.startswith("file:///")] == []
    page.close()


def test_hostile_names_stay_text(chromium: browser.Browser, tmp_path: Path) -> None:
    facts = Facts()
    facts.step(1, 0, 100_000)
    for i, name in enumerate((*HOSTILE, "</script><script>document.title='run'</script>", "<!--")):
        facts.kernel(name[:300] or "none", 1000 * i, 500)
    file = tmp_path / "report.html"
    with facts.trace() as trace:
        file.write_text(saved.document(build_report(trace), trace), encoding="utf-8")
    page = chromium.page(file, 1280)
    page.run("location.hash = '#/kernels'")
    page.eventually("document.querySelectorAll('.table tbody tr').length > 10")
    shown = page.run("document.querySelector('.table tbody').textContent")
    assert "<script>alert(1)</script>" in shown
    assert "\u202e" not in shown
    assert page.run("document.querySelectorAll('main script, main img').length") == 0
    assert page.run("document.title").startswith("Kernels")
    assert page.complaints() == []
    page.close()


def test_a_file_in_chinese_holds_its_catalogue(demo: tuple[Report, Trace], text: str) -> None:
    with speaking("zh"):
        chinese = saved.document(*demo)
    assert '<html lang="zh-Hans">' in chinese
    [policy] = re.findall('http-equiv="Content-Security-Policy" content="([^"]*)"', chinese)
    scripts = re.findall("<script>(.*?)</script>", chinese, re.DOTALL)
    assert [one.startswith("globalThis.stepscopeTexts=") for one in scripts] == [True, False]
    assert all(hashed(one) in policy for one in scripts)
    assert data(chinese)["api/report"]["findings"][0]["title"] == "step 等待数据"
    assert "stepscopeTexts={" not in text
