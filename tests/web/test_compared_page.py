"""The page of a comparison in a real browser: served, and as one file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import browser
from stepscope.cli.main import run
from stepscope.simulate import SimJob, simulate
from web.pages import CLIPPED, axe, go, listed, opened, violations
from web.serving import compared

#: Both windows begin as far from the start of their steps, and end so.
TOGETHER = """(() => { const [a, b] = stepscopePair.boards.map(({view}) =>
    [view.from - view.zero, view.to - view.zero]);
    return Math.abs(a[0] - b[0]) < 1 && Math.abs(a[1] - b[1]) < 1 })()"""
DRAWN = "window.stepscopePair?.boards.every(board => board.store.pending === 0 && board.stats.drawn > 0)"
SPAN = "(view => view.to - view.from)(stepscopePair.boards[1].view)"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("compared")
    simulate(SimJob(steps=5, model="mlp", layers=2), found / "base")
    simulate(SimJob(steps=5, model="mlp", layers=2, compute_scale=40.0, workers=0), found / "new")
    return found


@pytest.fixture(scope="module")
def where(folder: Path) -> Iterator[str]:
    with compared(folder / "base", folder / "new") as found:
        yield found


def test_every_page_and_both_recordings(chromium: browser.Browser, where: str) -> None:
    path = axe()
    page = opened(chromium, where)
    page.eventually(DRAWN)
    assert page.run("[...document.querySelectorAll('main h2')].map(h => h.firstChild.textContent.trim())")[:5] == [
        "Can they be compared?", "Verdict", "What the difference is made of", "Timelines", "Findings",
    ]  # fmt: skip
    found = {}
    for place in listed(page)[:4]:
        go(page, place)
        assert page.run("document.querySelectorAll('[role=alert]').length") == 0, place
        if path is not None:
            page.run(path.read_text(encoding="utf-8") + "; true")
            found[place] = [*violations(page), *page.run(CLIPPED)]
    assert found == {place: [] for place in found}
    go(page, "#/tree")
    largest = "document.querySelector('.tree .longer').textContent"
    assert page.run(largest).startswith("+")
    # What the steps vary by is no difference: it has no colour.
    page.run("document.querySelectorAll('.tree .fold[aria-expanded=false]').forEach(one => one.click())")
    noise = float(page.run("document.querySelector('main .prose').textContent").partition(" %")[0].rpartition(" ")[2])
    ratios = "[...document.querySelectorAll('.tree tbody tr')].map(row => [Number(row.lastChild.textContent),"
    ratios += " row.querySelector('.longer, .shorter') !== null])"
    coloured = [tuple(one) for one in page.run(ratios) if one[0] is not None]
    assert coloured
    assert [one for one in coloured if one[1] and 1 - noise / 101 < one[0] < 1 + noise / 101] == []
    assert page.complaints() == []
    assert {one.split("/")[2] for one in page.requested() if one.startswith("http")} == {where.split("/")[2]}
    page.run("[...document.querySelectorAll('nav a')].find(a => a.textContent === 'New').click()")
    page.eventually("document.querySelector('main h1')?.textContent.startsWith('new')", 30)
    page.close()


def test_noise_of_a_table_has_no_colour(chromium: browser.Browser, folder: Path) -> None:
    simulate(SimJob(steps=5, model="mlp", layers=2, noise_seed=2), folder / "again")
    with compared(folder / "base", folder / "again") as found:
        page = opened(chromium, found)
        go(page, "#/differences?tab=kernels")
        page.eventually("!!document.querySelector('main table tbody tr')", 30)
        page.run(
            "[...document.querySelectorAll('main .tools button')].find(b => b.textContent === 'All columns').click()"
        )
        rows = page.run(
            """(() => { const [table] = document.querySelectorAll('main table');
            const at = [...table.tHead.rows[0].cells].findIndex(one => one.textContent.trim().startsWith('sure'));
            return [...table.tBodies[0].rows].map(row => [row.cells[at].textContent,
                row.querySelector('.longer, .shorter') !== null]) })()"""
        )
        page.close()
    assert len(rows) > 10
    assert [one for one in rows if one != ["no", False]] == []


def test_timelines_move_together_by_keyboard(chromium: browser.Browser, where: str) -> None:
    page = opened(chromium, where, scheme="dark")
    page.eventually(DRAWN)
    page.run("document.querySelector('.pair-box').focus()")
    before = page.run(SPAN)
    page.press("w")
    page.eventually(f"{SPAN} < {before}")
    assert page.run(TOGETHER)
    page.press("Enter")
    page.eventually('!!document.querySelector(\'.pair a[href*="base/"][href*="event="]\')')
    page.run("stepscopePair.boards[1].select(0, stepscopePair.boards[1].view.from, stepscopePair.boards[1].view.to)")
    page.eventually("document.querySelectorAll('.pair .table tbody tr').length > 1")
    page.press("Escape")
    page.eventually(f"Math.abs({SPAN} - {before}) < 1 && {TOGETHER}")
    assert page.complaints() == []
    page.close()


def test_as_one_file(chromium: browser.Browser, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STEPSCOPE_CACHE", str(folder / "cache"))
    file = folder / "comparison.html"
    assert run(["compare", str(folder / "base"), str(folder / "new"), "--no-findings", "--html", str(file)]) == 0
    page = chromium.page(file, 1280)
    page.eventually(DRAWN)
    assert page.run("document.querySelectorAll('.waterfall tbody tr').length") > 3
    go(page, "#/tree")
    page.eventually("document.querySelectorAll('.tree tbody tr').length > 1")
    assert page.complaints() == []
    assert [one for one in page.requested() if not one.startswith("file:///")] == []
    page.close()
