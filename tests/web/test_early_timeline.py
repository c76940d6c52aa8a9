"""The timeline of a large recording, while the report on it waits and is made."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

import browser
from stepscope import demo
from stepscope.ingest import Options, open_trace
from stepscope.model.sizes import SIZES
from stepscope.web import viewing
from stepscope.web.precedence import Precedence
from web.pages import axe, violations
from web.serving import shown

TIMELINE = "window.stepscopeTimeline && stepscopeTimeline.store.pending === 0 && stepscopeTimeline.moved.value > 1"
#: The words that say how far it is, and whether these and the bar below or beside them are inside the window.
SAID = "document.querySelector('.early')?.textContent"
SEEN = """[...document.querySelectorAll('nav .early, nav progress')].map(one => one.getBoundingClientRect())
    .every(({left, right, width}) => left >= 0 && right <= innerWidth && width > 40)"""
PLACED = "stepscopeTimeline.selected.value ?? stepscopeTimeline.range.value"


class Told(Precedence):
    """Waits until it is told to go on: once, or for good."""

    def __init__(self, start: float) -> None:
        super().__init__(start)
        self.once, self.on = threading.Semaphore(0), threading.Event()

    def wait(self) -> None:
        while not self.on.is_set() and not self.once.acquire(timeout=0.02):
            pass


def test_it_says_what_is_waited_for_and_findings_lead_to_their_places_after_it(
    chromium: browser.Browser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[Told] = []
    monkeypatch.setattr(viewing, "Precedence", lambda start: told.append(Told(start)) or told[-1])
    with (
        demo.recording() as path,
        SIZES.changed(concurrent_events=0),
        open_trace(path, Options(store=tmp_path, locked=True)) as trace,
        shown(trace) as address,
    ):
        pages = [chromium.page(address + "#/timeline", width, "light", 800) for width in (390, 1280)]
        [precedence] = told
        for page in pages:
            page.send("Page.bringToFront")  # one that is behind another does not draw
            page.eventually(TIMELINE, 30)
            page.eventually(f"{SAID} === 'Analysing: waiting for the timeline'")
            assert page.run(SEEN)
        for _ in range(3):  # at the start, at that of the rank, and before a rule
            precedence.once.release()
        for page in pages:
            page.eventually(f"{SAID} === 'Analysing: rank 0: findings'")
            assert page.run(SEEN)
        # Whoever is at a field then stays there: what is typed is no command to the timeline.
        pages[1].run("document.querySelector('.tl-find input').focus()")
        if axe() is not None:
            pages[1].run(axe().read_text(encoding="utf-8") + "; true")  # type: ignore[union-attr]
            assert violations(pages[1]) == []
        precedence.on.set()
        for page in pages:
            page.send("Page.bringToFront")
            page.eventually(
                "!document.querySelector('progress') && document.querySelectorAll('.shell > nav li').length", 30
            )
            assert page.run("document.title").startswith("Timeline · ")
            assert page.run("document.title").count(" · ") == 2
            assert page is pages[0] or page.run("document.activeElement.matches('.tl-find input')")
            page.run("location.hash = '#/overview'")
            page.eventually("!!document.querySelector('.finding .places a')")
            page.run("document.querySelector('.finding .places a').click()")
            page.eventually(f"location.hash.startsWith('#/timeline') && !!({PLACED})")
            page.eventually("document.querySelector('.tl-way').textContent.includes('The step waits for data')")
            assert page.complaints() == []
            page.close()
