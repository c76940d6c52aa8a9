"""The timeline in a real browser: from a finding to its place, by mouse and by keyboard."""

from __future__ import annotations

from pathlib import Path

import pytest

import browser
from web.pages import axe, violations
from web.serving import viewed

READY = (
    "!document.querySelector('progress') && window.stepscopeTimeline && stepscopeTimeline.moved.value > 1"
    " && stepscopeTimeline.store.pending === 0 && stepscopeTimeline.stats.drawn > 0"
    " && !!document.querySelector('.tl-main')"
)
LOOK = "document.querySelector('.tl-panel h2').textContent"


def timeline(chromium: browser.Browser, address: str, place: str = "#/timeline") -> browser.Page:
    page = chromium.page(address + place, 1280, "light", 800)
    page.eventually(READY, 30)
    return page


def test_from_a_finding_to_its_place_and_its_range(chromium: browser.Browser, demo_page: str) -> None:
    page = chromium.page(demo_page, 1280, "light", 800)
    page.eventually("!!document.querySelector('.places a')", 30)
    page.run("document.querySelector('.places a[href*=\"event=\"]').click()")
    page.eventually("!!document.querySelector('.tl-panel h2') && " + READY, 30)
    assert page.run(LOOK).startswith("enumerate(DataLoader)")
    assert page.run("stepscopeTimeline.selected.value.start >= stepscopeTimeline.view.from")
    page.run(
        "[...document.querySelectorAll('.tl-actions button')].find(b => b.textContent === 'Select its time').click()"
    )
    page.eventually("document.querySelectorAll('.tl-range .tl-pairs').length > 0")
    page.eventually("document.querySelectorAll('.tl-range .table tbody tr').length > 0")
    assert page.complaints() == []
    page.close()


def test_a_link_restores_the_view_and_the_event(chromium: browser.Browser, demo_page: str) -> None:
    page = timeline(chromium, demo_page, "#/timeline?rank=0&event=138")
    page.eventually("!!stepscopeTimeline.selected.value && location.hash.includes('exact=1')")
    place, window = page.run("location.hash"), page.run("[stepscopeTimeline.view.from, stepscopeTimeline.view.to]")
    page.close()
    again = timeline(chromium, demo_page, place)
    again.eventually("stepscopeTimeline.selected.value?.id === 138")
    assert again.run("[stepscopeTimeline.view.from, stepscopeTimeline.view.to]") == pytest.approx(window, abs=1)
    # What was made for the first page is asked for at once.
    assert next(one for one in again.requested() if "/tiles?" in one).count(",") > 3
    again.close()


def test_the_keyboard_alone_zooms_moves_and_reads_events(chromium: browser.Browser, demo_page: str) -> None:
    page = timeline(chromium, demo_page)
    page.run("document.querySelector('.tl-main').focus()")
    span = "stepscopeTimeline.view.to - stepscopeTimeline.view.from"
    whole = page.run(span)
    page.press("w")
    assert page.run(span) < whole
    page.press("Enter")
    page.eventually("!!stepscopeTimeline.selected.value")
    first = page.run("stepscopeTimeline.selected.value.start")
    page.press("ArrowRight")
    page.eventually(f"stepscopeTimeline.selected.value.start > {first}")
    assert page.run("document.querySelector('[role=status][aria-live]').textContent")
    page.press("f")
    assert page.run(span) < whole / 2
    page.press("/")
    page.run(
        "document.activeElement.value = 'cuda';"
        "document.activeElement.dispatchEvent(new Event('input', {bubbles: true}))"
    )
    page.press("Enter")
    page.eventually("stepscopeTimeline.selected.value.name.toLowerCase().includes('cuda')")
    page.press("Escape")
    for _ in range(3):
        page.press("Escape")
    assert page.run("stepscopeTimeline.selected.value === null && stepscopeTimeline.search.value === ''")
    page.press("0")
    assert page.run(span) == pytest.approx(whole)
    page.close()


def test_what_is_drawn_of_an_event_is_shown_before_the_server_answers(
    chromium: browser.Browser, demo_page: str
) -> None:
    page = timeline(chromium, demo_page)
    page.run("document.querySelector('.tl-main').focus()")
    page.press("Enter")
    page.eventually("!!document.querySelector('.tl-panel h2')")
    first = page.run("stepscopeTimeline.selected.value.id")
    page.run("window.fetch = () => new Promise(() => {})")
    page.press("ArrowRight")
    page.eventually(f"stepscopeTimeline.selected.value.id !== {first}")
    page.eventually("document.querySelector('.tl-panel [role=status]')?.textContent.startsWith('Reading')")
    assert page.run(LOOK) == page.run("stepscopeTimeline.selected.value.name")
    assert page.run("[...document.querySelectorAll('.tl-facts dt')].map(one => one.textContent)") == [
        "start", "duration", "category", "on",
    ]  # fmt: skip
    page.close()


def test_escape_closes_what_lies_over_the_tracks_first(chromium: browser.Browser, demo_page: str) -> None:
    page = timeline(chromium, demo_page, "#/timeline?rank=0&event=138")
    page.eventually("!!stepscopeTimeline.selected.value")
    page.run("document.querySelector('.tl-main').focus()")
    page.press("?")
    page.eventually("!!document.querySelector('.tl-help')")
    page.press("Escape")
    page.eventually("!document.querySelector('.tl-help')")
    page.run("document.querySelector('.tl-menu summary').focus()")
    page.run("document.querySelector('.tl-menu').open = true")
    page.press("Escape")
    assert page.run("[document.querySelector('.tl-menu').open, document.activeElement.textContent]") == [False, "Flows"]
    assert page.run("!!stepscopeTimeline.selected.value"), "the event is given up last"
    page.press("Escape")
    page.eventually("!stepscopeTimeline.selected.value")
    page.close()


def test_the_search_zooms_to_what_it_finds(chromium: browser.Browser, demo_page: str) -> None:
    page = timeline(chromium, demo_page)
    whole = page.run("stepscopeTimeline.view.to - stepscopeTimeline.view.from")
    page.run("stepscopeTimeline.search.value = 'nvjet'")
    page.eventually("!document.querySelector('.tl-find [type=submit]').disabled")
    page.run("document.querySelector('.tl-find').requestSubmit()")
    page.eventually("!!stepscopeTimeline.selected.value && !!stepscopeTimeline.details.value")
    assert page.run("stepscopeTimeline.view.to - stepscopeTimeline.view.from") < whole / 20
    page.close()


def test_a_drag_selects_a_pin_stays_and_the_table_says_what_is_drawn(chromium: browser.Browser, demo_page: str) -> None:
    page = timeline(chromium, demo_page)
    for kind, x in (("mousePressed", 600), ("mouseMoved", 700), ("mouseReleased", 760)):
        page.send(
            "Input.dispatchMouseEvent",
            type=kind,
            x=x,
            y=300,
            button="left",
            buttons=int(kind != "mouseReleased"),
            clickCount=1,
        )
    page.eventually("!!stepscopeTimeline.range.value && !!document.querySelector('.tl-range .tl-pairs')")
    page.run("document.querySelector('[aria-label^=Pin]').click()")
    page.eventually("document.querySelectorAll('.tl-scroll.pinned .tl-label').length === 1")
    page.run("[...document.querySelectorAll('.tl-tabs button')].at(-1).click()")
    page.eventually("document.querySelectorAll('.tl-panel tbody tr').length > 10")
    assert page.run("stepscopeTimeline.stats.drawn") > 10
    page.close()


def test_what_was_drawn_before_is_moved_and_drawn_anew_once_it_stands(
    chromium: browser.Browser, demo_page: str
) -> None:
    page = timeline(chromium, demo_page)
    # A screen whose pixels are no whole part of the page's.
    page.send("Emulation.setDeviceMetricsOverride", width=1283, height=800, deviceScaleFactor=1.1, mobile=False)
    page.run("stepscopeTimeline.view.zoom(0.1)")
    page.run(
        "window.seen = () => { const canvas = document.querySelector('.tl-scroll.scrolled canvas');"
        " const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);"
        " return new Uint32Array(data.buffer); }; true"
    )
    pixels = (
        "new Promise(done => { stepscopeTimeline.redraw();"
        " requestAnimationFrame(() => requestAnimationFrame(() => done(window.seen()))); })"
    )
    page.run(f"{pixels}.then(found => {{ window.before = found; }})")
    page.eventually("stepscopeTimeline.store.pending === 0")
    apart = (
        "[0, 1].map(at => window.got[at].filter((one, i) => one !== window.got[2][i]).length / window.got[2].length)"
    )
    page.run(
        f"(async () => {{ window.got = [window.before]; for (let i = 0; i < 4; i++) {{"
        f" stepscopeTimeline.view.pan(20 / stepscopeTimeline.view.width); window.got[1] = await {pixels}; }} }})()"
    )
    page.eventually("stepscopeTimeline.store.pending === 0")
    page.run(
        f"new Promise(done => setTimeout(done, 500)).then(() => {pixels}).then(found => {{ window.got[2] = found; }})"
    )
    elsewhere, moved = page.run(apart)
    assert elsewhere > 0.05
    assert moved < 0.02
    # It is also drawn anew where something else, such as the pointer, was drawn in between; and no seam stays.
    page.run(
        "(async () => { stepscopeTimeline.view.pan(20 / stepscopeTimeline.view.width);"
        f" await {pixels}; await {pixels}; await new Promise(done => setTimeout(done, 500));"
        f" window.still = window.seen(); stepscopeTimeline.store.version++; window.anew = await {pixels}; }})()"
    )
    assert page.run("window.still.filter((one, i) => one !== window.anew[i]).length") == 0
    page.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_in_any_panel(chromium: browser.Browser, demo_page: str, scheme: str) -> None:
    path = axe()
    if path is None:
        pytest.skip("axe-core is not installed (npm ci in page, or AXE_FOR_TESTS)")
    page = chromium.page(demo_page + "#/timeline?rank=0&event=138", 1280, scheme, 800)
    page.eventually(READY, 30)
    page.eventually("!!document.querySelector('.tl-panel h2')")
    page.run(path.read_text(encoding="utf-8") + "; true")
    page.run("document.querySelector('.tl-main').focus()")
    page.press("?")
    page.run("document.querySelector('.tl-menu').open = true")
    found = [violations(page)]
    page.run("stepscopeTimeline.select(0, 0, 9e6)")
    page.eventually("document.querySelectorAll('.tl-range .table tbody tr').length > 0")
    found.append(violations(page))
    page.run("stepscopeTimeline.bottom.value = 'events'")
    page.eventually("document.querySelectorAll('.tl-panel tbody tr').length > 10")
    assert [*found, violations(page)] == [[], [], []]
    page.close()


def test_hostile_names_are_text(chromium: browser.Browser, tmp_path: Path) -> None:
    hostile = "<img src=x onerror=document.title='taken'>"
    event = '{"ph":"X","cat":"cpu_op","name":"%s","pid":1,"tid":1,"ts":%d,"dur":10}'
    trace = tmp_path / "hostile.json"
    trace.write_text(
        '{"traceEvents":[' + ",".join(event % (hostile, 100 * at) for at in range(3)) + "]}", encoding="utf-8"
    )
    with viewed(trace) as address:
        page = timeline(chromium, address)
        page.run("document.querySelector('.tl-main').focus()")
        page.press("Enter")
        page.eventually("!!document.querySelector('.tl-panel h2')")
        assert page.run(LOOK) == hostile
        assert "taken" not in page.run("document.title")
        assert page.run("document.querySelectorAll('img').length") == 0
        assert page.complaints() == []
        page.close()
