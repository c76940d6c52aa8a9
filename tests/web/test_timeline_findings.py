"""Findings in the timeline: their places as a track, their cards in the panel, and the critical path beside them."""

from __future__ import annotations

import browser
from web.pages import axe, opened, violations

READY = "window.stepscopeTimeline && stepscopeTimeline.store.pending === 0 && stepscopeTimeline.places.value.length > 0"
SAID = "document.querySelector('.tl-way [role=status]')?.textContent"


def test_from_place_to_place_of_a_finding_with_its_card(chromium: browser.Browser, demo_page: str) -> None:
    page = opened(chromium, demo_page)
    page.eventually("document.querySelector('.places a')?.textContent.startsWith('Wait for data of 13.1 ms in step')")
    page.run("document.querySelector('.places a').click()")
    page.eventually(READY, 30)
    # A link of the overview leads to a place: the timeline knows of which finding.
    page.eventually("stepscopeTimeline.finding.value === 0")
    assert (
        page.run("document.querySelector('.tl-strip [aria-pressed=true]').textContent") == "1. The step waits for data"
    )
    page.run("document.querySelector('.tl-strip button').click()")
    page.eventually("document.querySelector('.tl-panel .finding .title')?.textContent === '1. The step waits for data'")
    page.run("document.querySelector('.tl-main').focus()")
    seen = []
    for _ in range(5):
        before = page.run(SAID)
        page.press("n")
        page.eventually(
            f"{SAID} !== {before!r} && stepscopeTimeline.selected.value?.id === stepscopeTimeline.place.event"
        )
        seen.append(page.run(SAID))
        assert page.run("stepscopeTimeline.place.start >= stepscopeTimeline.view.from")
        assert page.run("stepscopeTimeline.place.end <= stepscopeTimeline.view.to")
    assert sorted({one.split(":")[0] for one in seen}) == [f"place {number} of 4" for number in range(1, 5)]
    assert all("wait for data of" in one for one in seen)
    page.eventually("!!document.querySelector('.tl-panel .finding')")
    if (path := axe()) is not None:
        page.run(path.read_text(encoding="utf-8") + "; true")
        assert violations(page) == []
    page.run("[...document.querySelectorAll('.tl-way button')].at(-1).click()")
    page.eventually("stepscopeTimeline.finding.value === null && !document.querySelector('.tl-way')")
    assert page.complaints() == []
    page.close()


def test_the_critical_path_is_a_track_and_what_is_not_on_it_is_faint(chromium: browser.Browser, demo_page: str) -> None:
    page = opened(chromium, demo_page, "#/timeline")
    page.eventually(READY, 30)
    page.run("[...document.querySelectorAll('.tl-bar button')].find(b => b.textContent === 'Critical path').click()")
    page.eventually("document.querySelector('.tl-strip li.aside')?.textContent === 'critical path'")
    assert page.run("stepscopeTimeline.onPath.size") > 100
    colours = (
        "(() => { const canvas = document.querySelector('.tl-strip canvas'), ctx = canvas.getContext('2d');"
        " const {data} = ctx.getImageData(0, canvas.height - 8, canvas.width, 1);"
        " return new Set(new Uint32Array(data.buffer)).size; })()"
    )
    page.eventually(f"{colours} > 3")
    assert page.complaints() == []
    page.close()
