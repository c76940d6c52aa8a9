"""Every page in Chinese in a real browser: no English is left but names and code, and axe finds nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import browser
from stepscope.language import speaking
from stepscope.model.trace import Trace
from stepscope.reports.build import build_report
from stepscope.web import saved
from web.pages import CLIPPED, SIDEWAYS, axe, go, listed, opened, violations
from web.serving import shown

#: What is read, or said by a screen reader, outside of code and of what tables hold: texts, attributes, the title.
TEXTS = """(() => {
  const aside = 'code, pre, kbd, script, style, noscript, del, ins, .table td, .table th, .grid td, .grid th, .frames,'
    + ' textarea, .legend dt, .numbers th, aside, .shares, .whatif-part span';
  const found = [document.title];
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walk.nextNode(); node; node = walk.nextNode())
    if (!node.parentElement.closest(aside)) found.push(node.nodeValue);
  for (const name of ['aria-label', 'title', 'placeholder', 'aria-valuetext'])
    for (const one of document.querySelectorAll(`[${name}]`))
      if (!one.closest(aside)) found.push(one.getAttribute(name));
  return [...new Set(found.map((text) => text.trim()).filter(Boolean))];
})()"""
#: Two words of English after each other; what has other signs in it is a name.
ENGLISH = re.compile(r"(?<![\w.:/\-`=])[A-Za-z]?[a-z]{2,}(?: [A-Za-z]?[a-z]{2,})+(?![\w.:/_(=-])")
#: Names that are no name of the recording.
NAMES = ("Tensor Core", "stepscope view", "stepscope query", "call stacks")
VIEWS = ("#/guide?read=DAT001", "#/kernels?tab=durations", "#/timeline?rank=0&step=2", "#/tables?table=step_budget")


def english(texts: list[str], names: list[str]) -> list[str]:
    """The texts that say something in English beside names."""
    found = []
    for text in texts:
        rest = text
        for name in names:
            rest = rest.replace(name, "·")
        if "::" not in rest and ENGLISH.search(rest):
            found.append(text)
    return found


@pytest.fixture(scope="module")
def names(demo_trace: Trace) -> list[str]:
    """Names of tables, of columns, and of what was recorded; the longest first."""
    found = {*NAMES}
    for name, table in build_report(demo_trace).tables.items():
        found |= {one.removesuffix("_ns").replace("_", " ") for one in (name, *table.schema.names)}
        for column in table.schema.columns:
            if column.type == "string":
                found |= {str(one).replace("_", " ") for one in table.column(column.name) if one}
                found |= {str(one) for one in table.column(column.name) if one}
    return sorted((one for one in found if " " in one), key=len, reverse=True)


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
