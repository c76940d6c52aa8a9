"""Every page in a real browser, on recordings of every kind: shown, reachable by keyboard, asking nobody else."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import browser
from stepscope.simulate import SimJob, simulate
from web.pages import CLIPPED, SIDEWAYS, axe, coloured, go, listed, opened, sized, violations
from web.serving import viewed

#: Pages that a recording of the simulator's has, by its format.
PAGES = {
    "ascend": {
        "overview",
        "guide",
        "timeline",
        "kernels",
        "communication",
        "operators",
        "memory",
        "cluster",
        "sql",
        "tables",
    },
    "nsight": {"overview", "guide", "timeline", "kernels", "operators", "transfers", "flame", "sql", "tables"},
    "memsnapshot": {"overview", "guide", "memory", "sql", "tables"},
}
#: Views of the demo's pages that axe looks at, besides the pages themselves.
VIEWS = ("#/guide?read=DAT001", "#/kernels?tab=durations", "#/kernels?tab=operators")
#: Texts of the timeline's corner that are cut; findings whose marker is on another line than their title; how high
#: rows of small tables are, but those whose first cell may take more lines.
CUT = """[...document.querySelectorAll('.tl-corner, .tl-corner *')].filter(one => one.scrollWidth > one.clientWidth
    && one.clientWidth || one.scrollHeight > 40).map(one => one.textContent)"""
ALONE = """[...document.querySelectorAll('.finding > summary')].filter(one => one.querySelector('.title')
    .getBoundingClientRect().top > one.getBoundingClientRect().top + 16).map(one => one.textContent)"""
ROWS = """[...document.querySelectorAll('.grid tbody tr:not(.below):not(:has(.long))')]
    .map(one => one.getBoundingClientRect().height)"""


@pytest.fixture(scope="module", params=PAGES)
def simulated(request: pytest.FixtureRequest, simulated_page: Callable[[str], str]) -> tuple[str, str]:
    return request.param, simulated_page(request.param)


def test_the_overview_shows_findings_and_asks_nobody_else(chromium: browser.Browser, demo_page: str) -> None:
    page = opened(chromium, demo_page)
    assert page.run("document.querySelector('.finding .title').textContent") == "1. The step waits for data"
    assert page.run("document.querySelectorAll('.budget tbody tr').length") == 5
    assert page.complaints() == []
    assert {one.split("/")[2] for one in page.requested()} == {demo_page.split("/")[2]}
    page.close()


def test_a_finding_leads_to_its_rule_and_the_guide_to_its_remedy(chromium: browser.Browser, demo_page: str) -> None:
    page = opened(chromium, demo_page)
    page.run("document.querySelector('.finding a[href^=\"#/guide?read=\"]').click()")
    page.eventually("document.querySelector('article.words h1')?.textContent.startsWith('DAT001')")
    assert page.run("document.querySelectorAll('article.words table tbody tr').length") == 3
    go(page, "#/guide")
    assert "data 3" in page.run("document.querySelector('.way').textContent")
    assert page.run("document.querySelector('.finding[open] .title').textContent") == "Data loading"
    for place, name in ((".finding[open]", "data-loading"), ("article.words", "prefetching")):
        page.run(f"[...document.querySelectorAll('{place} a')].find(a => a.hash.endsWith('{name}')).click()")
        page.eventually(f"document.querySelector('article.words h1') && location.hash.endsWith('{name}')")
    assert page.complaints() == []
    page.close()


def test_every_page_of_every_kind_of_recording(chromium: browser.Browser, simulated: tuple[str, str]) -> None:
    kind, address = simulated
    page = opened(chromium, address)
    places = listed(page)
    assert PAGES[kind] <= {place.removeprefix("#/") for place in places}
    for place in places:
        go(page, place)
        assert page.run("document.querySelectorAll('[role=alert]').length") == 0, place
        assert page.run("document.querySelector('main').textContent.length") > 60, place
        assert page.run(SIDEWAYS) == [], place
        # What is far below scrolls with its page, and does not lengthen the document to a blank one.
        page.run("document.querySelector('main').scrollTo(0, 1e6)")
        assert page.run("document.scrollingElement.scrollHeight <= innerHeight"), place
    assert page.complaints() == []
    assert {one.split("/")[2] for one in page.requested() if one.startswith("http")} == {address.split("/")[2]}
    page.close()


def test_nothing_is_cut_off_and_axe_finds_nothing(chromium: browser.Browser, demo_page: str) -> None:
    path = axe()
    if path is None:
        pytest.skip("axe-core is not installed (npm ci in page, or AXE_FOR_TESTS)")
    page = opened(chromium, demo_page)
    page.run(path.read_text(encoding="utf-8") + "; true")
    coloured(page, "light")
    found = {}
    for place in (*listed(page), *VIEWS):
        go(page, place)
        # Of what is beyond the window's edge, axe says nothing about contrast.
        sized(page, page.run("document.scrollingElement.scrollHeight"))
        found[place] = [*violations(page), *page.run(CLIPPED)]
        coloured(page, "dark")
        found[f"{place} in dark"] = violations(page, "color-contrast")
        coloured(page, "light")
        sized(page, 800)
    assert found == {place: [] for place in found}
    page.close()


def test_small_and_wide_screens_show_what_matters(chromium: browser.Browser, demo_page: str) -> None:
    page = opened(chromium, demo_page)
    boxes = (
        "[document.querySelector('main').getBoundingClientRect().width / innerWidth,"
        " document.querySelector('.shell > nav').getBoundingClientRect().height / innerHeight,"
        " document.scrollingElement.scrollWidth - innerWidth]"
    )
    for width, height in ((390, 844), (1920, 1080)):
        page.send("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        for place in ("#/overview", "#/kernels", "#/timeline"):
            go(page, place)
            main, navigation, beside = page.run(boxes)
            assert main > (0.99 if width < 500 else 0.85), place
            assert navigation < 0.15 or width > 500, place
            assert beside <= 0, place
        if width < 500:
            page.eventually("!!document.querySelector('.tl-corner strong')?.textContent")
            assert page.run(CUT) == []
            # As of a recording of 18 s.
            page.run("document.querySelector('.tl-corner span').textContent = 'from −177.466\u202f685 ms'")
            assert page.run(CUT) == []
            go(page, "#/overview")
            assert page.run(ALONE) == []
            rows = page.run(ROWS)
            assert len(rows) > 10
            assert max(rows) < 36  # of one line
    page.close()


def test_on_a_phone_a_page_begins_at_its_top_and_the_navigation_shows_which_it_is(
    chromium: browser.Browser, demo_page: str
) -> None:
    page = opened(chromium, demo_page)
    page.send("Emulation.setDeviceMetricsOverride", width=390, height=844, deviceScaleFactor=1, mobile=False)
    for place in ("#/tables", "#/overview", "#/sql"):
        page.run("scrollTo(0, document.scrollingElement.scrollHeight)")
        assert page.run("scrollY") > 100 or place == "#/tables"
        go(page, place)
        page.eventually(
            "scrollY === 0 && (({left, right}) => 0 <= left && right < 391)"
            "(document.querySelector('.shell > nav [aria-current]').getBoundingClientRect())"
        )
    go(page, "#/timeline")
    page.eventually("!!document.querySelector('.tl-find input')")
    bottom, find = page.run("[document.querySelector('.tl').getBoundingClientRect().bottom,"
                            " document.querySelector('.tl-find input').clientWidth]")  # fmt: skip
    assert bottom == pytest.approx(844, abs=1)
    assert find > 160
    page.close()


def test_the_guide_says_all_of_what_can_be_searched_for(chromium: browser.Browser, demo_page: str) -> None:
    page = opened(chromium, demo_page, "#/guide")
    # A field tells no width of its placeholder; as its text it has one.
    page.run("(field => field.value = field.placeholder)(document.querySelector('main input[type=search]'))")
    assert (
        page.run("(field => field.scrollWidth - field.clientWidth)(document.querySelector('main input[type=search]'))")
        <= 0
    )
    page.close()


def test_a_violation_would_be_noticed(chromium: browser.Browser, demo_page: str) -> None:
    path = axe()
    if path is None:
        pytest.skip("axe-core is not installed (npm ci in page, or AXE_FOR_TESTS)")
    page = opened(chromium, demo_page)
    page.run(path.read_text(encoding="utf-8") + "; true")
    page.run("document.querySelector('main h1').outerHTML = '<button></button>'")
    page.run("document.querySelector('main p').style.opacity = 0.4")
    assert {"button-name", "color-contrast"} <= {rule for rule, _ in violations(page)}
    page.close()


def test_a_page_a_view_and_an_order_by_keyboard(chromium: browser.Browser, demo_page: str) -> None:
    page = opened(chromium, demo_page)
    focused = "(document.activeElement.ariaLabel || document.activeElement.textContent).trim()"

    def tab_to(text: str) -> None:
        for _ in range(60):
            page.press("Tab")
            if str(page.run(focused)).startswith(text):
                assert page.run("getComputedStyle(document.activeElement).outlineStyle") == "solid"
                return
        raise AssertionError(f"Tab does not reach {text}")

    tab_to("Kernels")
    page.press("Enter")
    page.eventually("document.querySelector('main h1')?.textContent === 'Kernels'")
    tab_to("By operator")
    page.press("Enter")
    page.eventually("location.hash.includes('tab=operators') && !!document.querySelector('.table tbody tr')")
    tab_to("count")
    page.press("Enter")
    page.eventually("document.querySelector('th[aria-sort=descending]')?.textContent === 'count'")
    page.press("Enter")
    page.eventually("document.querySelector('th[aria-sort=ascending]')?.textContent === 'count'")
    page.close()


def test_a_query_and_one_that_is_refused(chromium: browser.Browser, demo_page: str) -> None:
    page = opened(chromium, demo_page, "#/sql?sql=SELECT%20count(*)%20AS%20n%20FROM%20events")
    page.run("document.querySelector('button.main').click()")
    page.eventually("document.querySelector('.table tbody td')?.textContent === '5867'")
    page.run(
        "{ const box = document.querySelector('textarea'); box.value = \"SELECT * FROM read_csv('/etc/passwd')\";"
        " box.dispatchEvent(new Event('input', {bubbles: true})); }"
    )
    page.run("document.querySelector('button.main').click()")
    page.eventually("document.querySelector('[role=alert]')?.textContent.includes('only read')")
    page.close()


def test_slow_ranks_and_stages_of_a_pipeline(chromium: browser.Browser, tmp_path: Path) -> None:
    simulate(SimJob(ranks=2, stages=2, micro_batches=2, layers=2, steps=2), tmp_path)
    with viewed(tmp_path) as address:
        page = opened(chromium, address, "#/cluster?tab=slow")
        assert page.run("document.querySelectorAll('.slow tbody tr').length") == 2
        page.run("location.hash = '#/cluster?tab=path'")
        page.eventually("document.querySelectorAll('.table tbody tr').length > 2")
        page.run("location.hash = '#/cluster?tab=kernels'")
        page.eventually("document.querySelectorAll('main svg[role=img] rect').length > 2")
        page.run("location.hash = '#/cluster?tab=pipeline'")
        page.eventually("window.stepscopePipeline?.store.pending === 0 && stepscopePipeline.stats.drawn > 0")
        labels = page.run("[...document.querySelectorAll('.pair .tl-name')].map(name => name.textContent)")
        assert labels == ["stage 0 · rank 0", "stage 1 · rank 1"]
        page.eventually("document.querySelectorAll('.pair .table tbody tr').length === 2")
        page.run(
            "[...document.querySelectorAll('.pair th button')].find(b => b.textContent.startsWith('idle')).click()"
        )
        page.eventually("!!document.querySelector('.pair th[aria-sort]')")
        if (path := axe()) is not None:
            page.run(path.read_text(encoding="utf-8") + "; true")
            assert violations(page) == []
        assert page.complaints() == []
        page.close()


def test_what_was_allocated_at_a_chosen_moment(chromium: browser.Browser, demo_page: str) -> None:
    page = opened(chromium, demo_page, "#/memory")
    said = "document.querySelector('.live h2')?.textContent"
    page.eventually(f"!!{said}")
    at_the_peak = page.run(said)
    page.run("document.querySelector('.moment input').focus()")
    page.press("ArrowRight")
    page.eventually(f"{said} && {said} !== {at_the_peak!r}")
    assert page.run("document.querySelectorAll('.live .table tbody tr').length") == 20
    page.close()


def test_from_a_kernel_to_all_of_its_executions(chromium: browser.Browser, demo_page: str) -> None:
    page = opened(chromium, demo_page, "#/kernels")
    page.eventually("!!document.querySelector('.table tbody th a')")
    page.run("document.querySelector('.table tbody th a').click()")
    page.eventually("!!document.querySelector('[aria-label=executions] tbody tr')")
    said = page.run("[...document.querySelectorAll('.columns title')].map(one => one.textContent)")
    shares = [float(one.split()[-2]) for one in said]
    assert abs(sum(shares) - 100) < 1
    assert page.run(SIDEWAYS) == []
    page.close()


def test_a_wrong_token_is_a_sentence(chromium: browser.Browser, demo_page: str) -> None:
    page = chromium.page(demo_page.replace("token=", "token=x"), 1280)
    page.eventually("!!document.querySelector('[role=alert]')")
    assert "stepscope view" in page.run("document.querySelector('[role=alert]').textContent")
    page.close()


def test_samples_of_the_machine_have_the_units_of_their_rows(chromium: browser.Browser, tmp_path: Path) -> None:
    start = 1_700_000_000
    events = [{"ph": "X", "cat": "cpu_op", "name": "mm", "pid": 1, "tid": 1, "ts": ts, "dur": 9} for ts in (0, 2e6)]
    trace = {"distributedInfo": {"rank": 0}, "baseTimeNanoseconds": start * 10**9, "traceEvents": events}
    (tmp_path / "node7_11.1700000000000.pt.trace.json").write_text(json.dumps(trace))
    head = {"samples": "stepscope.machine/1", "host": "node7", "cores": 4, "ticks": 100}
    lines: list[dict[str, Any]] = [
        {"unix_ns": (start + at) * 10**9, "recording": at < 3, "cores": {"0": [50 * at, 0, 0]},
         "devices": {"0": {"busy": 80, "memory_used": 2**30}}} for at in range(10)
    ]  # fmt: skip
    (tmp_path / "node7_1.machine.jsonl").write_text(
        "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in (head, *lines))
    )
    with viewed(tmp_path) as address:
        page = opened(chromium, address)
        assert "#/machine" in listed(page)
        rows = "[...document.querySelectorAll('[aria-label=machine_use] tbody tr')].map(r => r.innerText.split('\\t'))"
        page.eventually(f"{rows}.length > 0")
        shown = {(subject, series): mean for subject, series, mean, *_ in page.run(rows)}
        assert shown["device 0", "busy"] == "80.0 %"
        assert shown["device 0", "memory used"] == "1.00 GiB"
        assert shown["processors", "busy"] == "0.50 cores"
        assert list(shown)[-1] == ("core 0", "busy")
        page.close()
