"""From rows of tables to their places in a real browser, and back to the tables."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import browser
from web.pages import axe, go, opened, violations
from web.serving import viewed

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


def test_a_step_that_is_over_before_the_devices_come_to_it_is_where_the_host_was_at_it(
    chromium: browser.Browser, tmp_path: Path
) -> None:
    host = {"ph": "X", "pid": 1, "tid": 1}
    events: list[dict[str, Any]] = []
    # The device works on the second step until the third one is over, in which nothing is launched.
    for step, busy in enumerate((800, 1700, 0, 800)):
        ts, args = 1000 * step, {"correlation": step, "device": 0, "stream": 7}
        events.append({**host, "cat": "user_annotation", "name": f"ProfilerStep#{step}", "ts": ts, "dur": 1000})
        if busy:
            launch = {"cat": "cuda_runtime", "name": "cudaLaunchKernel", "ts": ts + 5, "dur": 5, "args": args}
            kernel = {"cat": "kernel", "name": "sgemm", "ts": ts + 400, "dur": busy, "args": args}
            events += [{**host, **launch}, {**kernel, "ph": "X", "pid": 0, "tid": 7}]
    path = tmp_path / "trace.json"
    path.write_text(json.dumps({"deviceProperties": [{"id": 0, "name": "NVIDIA A100"}], "traceEvents": events}))
    with viewed(path) as address:
        page = opened(chromium, address, "#/timeline?rank=0&step=2")
        page.eventually("window.stepscopeTimeline?.range.value")
        chosen = page.run("stepscopeTimeline.range.value")
        assert [chosen["from"], chosen["to"]] == [2_000_000, 3_000_000]
        assert page.complaints() == []
        page.close()
