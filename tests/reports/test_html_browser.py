"""The page in a real browser: what it looks like, what a keyboard reaches, what a screen reader is told."""

from __future__ import annotations

import os
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import browser
from report_support import plain_page, sample_report
from stepscope.ingest import Options, open_trace
from stepscope.reports import html
from stepscope.reports.build import build_report

DEMO = Path(html.__file__).parents[1] / "demo" / "job.json.gz"
WIDTHS = (1280, 400)
SCHEMES = ("light", "dark")

#: Texts whose contrast to what is behind them is below that of WCAG 2 (1.4.3): 4.5, or 3 for large ones.
CONTRAST = """(() => {
  const parse = text => { const [r, g, b, a = 1] = text.match(/[\\d.]+/g).map(Number); return [r, g, b, a]; };
  const linear = v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
  const light = ([r, g, b]) => 0.2126 * linear(r / 255) + 0.7152 * linear(g / 255) + 0.0722 * linear(b / 255);
  const behind = element => {
    for (let e = element; e; e = e.parentElement) {
      const colour = parse(getComputedStyle(e).backgroundColor);
      if (colour[3]) return colour;
    }
    return [255, 255, 255, 1];
  };
  const low = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let seen = 0; walker.nextNode() && seen < 20000; seen++) {
    const [text, element] = [walker.currentNode.data.trim(), walker.currentNode.parentElement];
    if (!text || !element.checkVisibility() || element.closest("script, style, svg")) continue;
    const style = getComputedStyle(element);
    const [a, b] = [light(parse(style.color)), light(behind(element))].sort((x, y) => y - x);
    const size = parseFloat(style.fontSize);
    const least = size >= 24 || (size >= 18.66 && style.fontWeight >= 700) ? 3 : 4.5;
    if ((a + 0.05) / (b + 0.05) < least) low.push(text.slice(0, 40));
  }
  return low;
})()"""


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of a real recording."""
    file = tmp_path_factory.mktemp("page") / "demo.html"
    file.write_text(plain_page(build_report(open_trace(DEMO, Options(cache=False)))), encoding="utf-8")
    return file


@pytest.fixture
def small(tmp_path: Path) -> Path:
    file = tmp_path / "small.html"
    file.write_text(plain_page(sample_report()), encoding="utf-8")
    return file


def opened(chromium: browser.Browser, file: Path, width: int = 1280, scheme: str = "light") -> browser.Page:
    page = chromium.page(file, width, scheme)
    page.run("document.querySelectorAll('details').forEach(fold => { fold.open = true; })")
    return page


def eventually(page: browser.Page, condition: str) -> None:
    """The page gets there within a few seconds."""
    end = time.monotonic() + 5
    while not page.run(condition):
        assert time.monotonic() < end, f"never: {condition}"


def focused(page: browser.Page) -> str:
    return str(page.run("(document.activeElement.ariaLabel || document.activeElement.textContent).trim()"))


@pytest.mark.parametrize(("width", "schemes"), [(1280, SCHEMES), (400, ("dark",))])
def test_nothing_is_cut_off_and_everything_can_be_read(
    chromium: browser.Browser, demo: Path, width: int, schemes: tuple[str, ...]
) -> None:
    page = opened(chromium, demo, width)
    assert page.complaints() == []
    assert page.run("document.documentElement.scrollWidth") <= width
    for scheme in schemes:
        page.send("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        assert page.run("getComputedStyle(document.body).backgroundColor") == (
            "rgb(17, 18, 20)" if scheme == "dark" else "rgba(0, 0, 0, 0)"
        )
        assert page.run(CONTRAST) == []
    page.close()


def test_a_text_that_is_too_pale_would_be_noticed(chromium: browser.Browser, small: Path) -> None:
    page = opened(chromium, small)
    page.run("document.querySelector('.stepscope').style.setProperty('--soft', '#aaa')")
    assert "mean step" in page.run(CONTRAST)


def test_names_keep_their_width_on_a_narrow_screen_and_whatever_scrolls_does_so_by_keyboard(
    chromium: browser.Browser, demo: Path
) -> None:
    page = opened(chromium, demo, 400)
    narrow = """[...document.querySelectorAll('tbody th, td.long')].filter(cell => cell.textContent.length > 24
        && cell.getBoundingClientRect().width < 120).length"""
    assert page.run(narrow) == 0
    scrolling = (
        "[...document.querySelectorAll('*')].filter(e => e.scrollWidth > e.clientWidth + 1 "
        "&& getComputedStyle(e).overflowX === 'auto')"
    )
    assert page.run(f"{scrolling}.length") > 5
    assert page.run(f"{scrolling}.filter(e => e.tabIndex !== 0).length") == 0
    page.run(f"{scrolling}[0].focus()")
    page.press("ArrowRight")
    eventually(page, "document.activeElement.scrollLeft > 0")
    page.close()


def test_headings_and_labels(chromium: browser.Browser, demo: Path) -> None:
    page = opened(chromium, demo)
    levels = page.run("[...document.querySelectorAll('h1, h2, h3, h4')].map(h => +h.tagName[1])")
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))
    unnamed = """[...document.querySelectorAll('button, a, input, summary, [tabindex], [role=img]')].filter(e =>
        !(e.ariaLabel || e.textContent.trim() || (e.labels && e.labels.length))).length"""
    assert page.run(unnamed) == 0
    unscoped = "[...document.querySelectorAll('th')].filter(h => !h.scope || !h.textContent.trim()).length"
    assert page.run(unscoped) == 0
    page.close()


def test_the_order_of_focus_is_that_of_the_page(chromium: browser.Browser, small: Path) -> None:
    page = chromium.page(small, 1280)
    titles = page.run("[...document.querySelectorAll('h2')].map(heading => heading.textContent)")
    order = []
    for _ in range(len(titles) + 9):
        page.press("Tab")
        order.append(focused(page))
    assert titles[:1] + titles[-1:] == ["Health", "All tables"]
    assert order[: len(titles)] == titles  # links to the sections
    after = order[len(titles) :]
    boxes = ["Where the time went", "Why idle", "Kernels", "", "step_budget 3 rows", "idle_causes 5 rows"]
    assert [label for label in after if label in boxes] == boxes
    page.press("Tab", shift=True)
    outline = page.run("getComputedStyle(document.activeElement).outlineStyle")
    assert outline == "solid"


def test_a_table_is_sorted_by_a_heading_with_the_keyboard(chromium: browser.Browser, small: Path) -> None:
    page = opened(chromium, small)
    column = "[...document.querySelectorAll('#table-kernels tbody tr')].map(row => row.cells[2].textContent)"
    before = page.run(column)
    page.run("document.querySelector('#table-kernels th:nth-child(3) button').focus()")
    page.press("Enter")
    assert page.run(column) == before  # by time, largest first, already
    assert page.run("document.querySelector('#table-kernels th:nth-child(3)').ariaSort") == "descending"
    page.press("Enter")
    assert page.run(column) == before[::-1]
    assert page.run("document.querySelector('#table-kernels th:nth-child(3)').ariaSort") == "ascending"


def test_a_link_to_a_table_unfolds_it(chromium: browser.Browser, demo: Path) -> None:
    page = chromium.page(demo, 1280)
    assert page.run("document.getElementById('table-kernels').open") is False
    page.run("document.querySelector('a[href=\"#table-kernels\"]').focus()")
    page.press("Enter")
    eventually(page, "document.getElementById('table-kernels').open")
    assert focused(page).startswith("kernels ")
    page.close()


def test_a_name_is_found_in_all_tables(chromium: browser.Browser, small: Path) -> None:
    page = chromium.page(small, 1280)
    page.run("document.querySelector('input[type=search]').focus()")
    for letter in "gemm":
        page.press(letter)
    eventually(page, "document.querySelector('[role=status]').textContent === '1 row in 1 table'")
    shown = "[...document.querySelectorAll('#all-tables > details')].filter(d => !d.hidden).map(d => d.id)"
    assert page.run(shown) == ["table-kernels"]
    page.run(
        "{ const i = document.querySelector('input[type=search]'); i.value = ''; i.dispatchEvent(new Event('input')); }"
    )
    eventually(page, f"{shown}.length === 3")


@pytest.mark.parametrize("width", WIDTHS)
def test_axe_finds_nothing(chromium: browser.Browser, demo: Path, width: int) -> None:
    axe = os.environ.get("AXE_FOR_TESTS")
    if not axe:
        pytest.skip("AXE_FOR_TESTS does not name an axe.min.js (npm: axe-core)")
    page = chromium.page(demo, width)
    page.run(Path(axe).read_text(encoding="utf-8") + "; true")
    found: list[dict[str, Any]] = page.run("axe.run({resultTypes: ['violations']}).then(result => result.violations)")
    assert [(one["id"], one["nodes"][0]["html"]) for one in found] == []
