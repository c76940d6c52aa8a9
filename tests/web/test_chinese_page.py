"""Every page in Chinese in a real browser: no English is left but names and code, and axe finds nothing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import browser
from stepscope.language import speaking
from stepscope.model.trace import Trace
from stepscope.reports.build import build_report
from stepscope.web import saved
from web.chinese import TEXTS, english, names_of
from web.pages import CLIPPED, SIDEWAYS, axe, go, listed, opened, violations
from web.serving import shown

VIEWS = ("#/guide?read=DAT001", "#/kernels?tab=durations", "#/timeline?rank=0&step=2", "#/tables?table=step_budget")


@pytest.fixture(scope="module")
def names(demo_trace: Trace) -> list[str]:
    return names_of(demo_trace)


@pytest.fixture(scope="module")
def chinese_page(demo_trace: Trace) -> Iterator[str]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LC_ALL", "zh_CN.UTF-8")
        with shown(demo_trace) as address:
            yield address


def test_no_page_has_english_but_names(chromium: browser.Browser, chinese_page: str, names: list[str]) -> None:
    page = opened(chromium, chinese_page)
    assert page.run("document.documentElement.lang") == "zh-Hans"
    left: dict[str, Any] = {}
    for place in (*listed(page), *VIEWS):
        go(page, place)
        left[place] = english(page.run(TEXTS), names)
        assert page.run("/[\\u4e00-\\u9fff]/.test(document.querySelector('main').textContent)"), place
    assert left == {place: [] for place in left}
    assert page.complaints() == []
    page.close()


def test_nothing_is_cut_off_and_axe_finds_nothing(chromium: browser.Browser, chinese_page: str) -> None:
    path = axe()
    page = opened(chromium, chinese_page)
    if path is not None:
        page.run(path.read_text(encoding="utf-8") + "; true")
    found = {}
    for place in listed(page):
        go(page, place)
        found[place] = [*page.run(CLIPPED), *page.run(SIDEWAYS), *(violations(page) if path is not None else ())]
    page.send("Emulation.setDeviceMetricsOverride", width=390, height=844, deviceScaleFactor=1, mobile=False)
    for place in ("#/overview", "#/kernels", "#/timeline"):
        go(page, place)
        found[f"{place} at 390"] = ["wider"] if page.run("document.scrollingElement.scrollWidth > innerWidth") else []
    assert found == {place: [] for place in found}
    page.close()


def test_a_saved_page_is_in_chinese(chromium: browser.Browser, demo_trace: Trace, tmp_path: Path) -> None:
    file = tmp_path / "report.html"
    with speaking("zh"):
        file.write_text(saved.document(build_report(demo_trace), demo_trace), encoding="utf-8")
    page = chromium.page(file, 1280)
    page.eventually("document.querySelector('.shell > nav [aria-current=page]')?.textContent === '总览'")
    page.run("location.hash = '#/kernels'")
    page.eventually("document.querySelector('.table button[title]')?.title.includes('名称')")
    assert page.complaints() == []
    page.close()


def test_english_would_be_noticed() -> None:
    texts = [
        "等待 data loading 的时间",
        "Show all",
        "kernel",
        "step budget",
        "void at::native::(anonymous namespace)::f",
        "a.b c.d",
    ]
    assert english(texts, ["step budget"]) == ["等待 data loading 的时间", "Show all"]
