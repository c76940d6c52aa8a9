"""From rows of tables to their places in a real browser, and back to the tables."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import browser
from stepscope.simulate import SimJob, simulate
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


@pytest.mark.parametrize("busy", [(800, 1700, 0, 800), (0, 0, 0, 0)], ids=["late", "no device"])
def test_a_step_without_time_of_the_device_is_where_the_host_was_at_it(
    chromium: browser.Browser, tmp_path: Path, busy: tuple[int, ...]
) -> None:
    """The device works on the second step until the third one is over, or there is none."""
    host = {"ph": "X", "pid": 1, "tid": 1}
    events: list[dict[str, Any]] = []
    for step, dur in enumerate(busy):
        ts, args = 1000 * step, {"correlation": step, "device": 0, "stream": 7}
        events.append({**host, "cat": "user_annotation", "name": f"ProfilerStep#{step}", "ts": ts, "dur": 1000})
        events.append({**host, "cat": "cpu_op", "name": "aten::mm", "ts": ts + 1, "dur": 300})
        if dur:
            launch = {"cat": "cuda_runtime", "name": "cudaLaunchKernel", "ts": ts + 5, "dur": 5, "args": args}
            kernel = {"cat": "kernel", "name": "sgemm", "ts": ts + 400, "dur": dur, "args": args}
            events += [{**host, **launch}, {**kernel, "ph": "X", "pid": 0, "tid": 7}]
    path = tmp_path / "trace.json"
    path.write_text(json.dumps({"traceEvents": events}))
    with viewed(path) as address:
        page = opened(chromium, address, "#/timeline?rank=0&step=2")
        page.eventually("window.stepscopeTimeline?.range.value")
        chosen = page.run("stepscopeTimeline.range.value")
        assert [chosen["from"], chosen["to"]] == [2_000_000, 3_000_000]
        assert page.complaints() == []
        page.close()


def test_bars_of_ranks_lead_to_their_step_or_their_rank(chromium: browser.Browser, tmp_path: Path) -> None:
    simulate(SimJob(ranks=9, steps=3, layers=1), tmp_path / "several")
    simulate(SimJob(ranks=2, steps=2, layers=1), tmp_path / "few")
    ways = "[...document.querySelectorAll('.budget tbody tr')].map(row => row.querySelector('a.go')?.hash ?? null)"
    found = {}
    for name in ("several", "few"):
        with viewed(tmp_path / name) as address:
            page = opened(chromium, address)
            page.eventually("!!document.querySelector('.budget a.go')")
            found[name] = page.run(ways)
            page.close()
    assert found["several"] == [*(f"#/timeline?rank={rank}" for rank in range(9)), None]
    parts = [way and way.partition("&from=") for way in found["few"]]
    assert [way and way[0] for way in parts] == [*(f"#/timeline?rank={rank}" for rank in (0, 0, 1, 1)), None]
    assert all(way is None or way[2] for way in parts)
