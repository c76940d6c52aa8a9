"""From rows of tables to their places in a real browser, and back to the tables."""

from __future__ import annotations

import browser
from web.pages import axe, go, opened, violations

CHOSEN = "window.stepscopeTimeline?.details.value?.event"
ROW = "document.querySelector('.table td.go a')"


def test_rows_lead_to_their_places_and_places_back(chromium: browser.Browser, demo_page: str) -> None:
    page = opened(chromium, demo_page, "#/kernels")
    page.eventually(f"!!{ROW}")
    assert page.run(f"{ROW}.getAttribute('aria-label')").startswith("The longest in the timeline: ")
    if (path := axe()) is not None:
        page.run(path.read_text(encoding="utf-8") + "; true")
        assert violations(page) == []
    page.run(f"{ROW}.click()")
    page.eventually(f"!!{CHOSEN}", 30)
    name, most = page.run(f"[{CHOSEN}.name, {CHOSEN}.dur]")
    rows = "fetch('api/tables/kernels' + location.search).then(r => r.json()).then(t => t.rows.map(r => [r[0], r[6]]))"
    assert [name, most] in page.run(rows)
    page.run("[...document.querySelectorAll('.tl-links a')].find(a => a.textContent === 'all its executions').click()")
    page.eventually("document.querySelector('[aria-label=executions] tbody tr') !== null")
    # A step, by its bar and by its rows, and a moment of memory.
    go(page, "#/overview")
    page.eventually("!!document.querySelector('.budget a.go')")
    page.run("document.querySelector('.budget a.go').click()")
    page.eventually("window.stepscopeTimeline?.range.value !== null")
    at = page.run("stepscopeTimeline.range.value")
    go(page, "#/tables?table=phases")
    page.eventually(f"!!{ROW}")
    page.run(f"{ROW}.click()")
    page.eventually("location.hash.includes('timeline') && stepscopeTimeline.range.value !== null")
    assert page.run("stepscopeTimeline.range.value") == at
    page.eventually(
        "[...document.querySelectorAll('.tl-range .tl-links a')].some(a => a.textContent === 'memory then')"
    )
    page.run("document.querySelector('.tl-range .tl-links a').click()")
    page.eventually("!!document.querySelector('.live h2')")
    assert page.complaints() == []
    page.close()
