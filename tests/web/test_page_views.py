"""What pages draw: every roof of a device, layers that are alike as one row, and the part in which devices work."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

import browser
from web.pages import ROOT, go, opened
from web.serving import viewed
from web.test_timeline_page import READY

TREE = "[...document.querySelectorAll('.tree tbody th')].map(one => one.textContent)"


def events() -> list[dict[str, Any]]:
    """A model of four blocks alike and a head; its device works for a tenth of what is recorded."""
    found: list[dict[str, Any]] = []

    def host(category: str, name: str, ts: int, dur: int, number: int) -> None:
        args = {"Python id": number, "External id": number}
        found.append({"ph": "X", "cat": category, "name": name, "pid": 1, "tid": 1, "ts": ts, "dur": dur, "args": args})

    host("python_function", "nn.Module: Model_0", 0, 1000, 1)
    for block in range(4):
        host("python_function", f"nn.Module: Block_{block}", 10 + 200 * block, 190, 10 + 2 * block)
        host("python_function", f"nn.Module: Linear_{block}", 20 + 200 * block, 160, 11 + 2 * block)
        host("cpu_op", "aten::mm", 30 + 200 * block, 100, 100 + block)
        launch = {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1}
        found.append(
            {**launch, "ts": 40 + 200 * block, "dur": 5, "args": {"correlation": block + 1, "External id": 100 + block}}
        )
        kernel = {
            "ph": "X",
            "cat": "kernel",
            "name": "sgemm",
            "pid": 0,
            "tid": 7,
            "ts": 50 + 200 * block,
            "dur": 100 + block,
        }
        found.append({**kernel, "args": {"correlation": block + 1, "device": 0, "stream": 7}})
    host("python_function", "nn.Module: Head_0", 900, 1, 50)
    host("cpu_op", "aten::save", 8000, 900, 60)
    host("python_function", "train.py(7): log", 9000, 5, 61)
    return found


@pytest.fixture(scope="module")
def blocks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("blocks") / "trace.json"
    path.write_text(json.dumps({"deviceProperties": [{"id": 0, "name": "NVIDIA A100"}], "traceEvents": events()}))
    return path


def test_layers_alike_are_one_row_and_stand_in_order(chromium: browser.Browser, blocks: Path) -> None:
    with viewed(blocks) as address:
        page = opened(chromium, address, "#/modules")
        page.eventually(f"{TREE}.length > 0")
        # What takes nearly nothing, the head, is shown when asked for.
        assert page.run(TREE) == ["Model_0", "Block_0 … Block_3 4 alike"]
        page.run("[...document.querySelectorAll('.tree .fold')].at(-1).click()")
        page.eventually(f"{TREE}.length > 6")
        assert [one for one in page.run(TREE) if "Block" in one][1:] == [f"Block_{block}" for block in range(4)]
        page.run("document.querySelector('main .scroll p button').click()")
        page.eventually(f"{TREE}.includes('Head_0')")
        # A frame over all of its stacks: what it calls, and who calls it.
        go(page, "#/flame?tab=host")
        page.eventually("!!document.querySelector('[aria-label=frames] tbody tr')")
        names = "[...document.querySelectorAll('[aria-label=frames] tbody th a')]"
        page.run(f"{names}.find(a => a.textContent === 'aten::mm').click()")
        page.eventually("document.querySelectorAll('.flame canvas').length === 2")
        said = "[...document.querySelectorAll('.flame [aria-live]')].map(one => one.textContent)"
        assert page.run(said) == ["All: 400 µs", "All: 400 µs"]
        page.run("document.querySelectorAll('.flame canvas')[1].focus()")
        callers = []
        for _ in range(3):
            page.press("ArrowDown")
            callers.append(page.run(f"{said}[1]").rpartition(": ")[0])
        assert callers[0] == "aten::mm"
        assert callers[1].startswith("nn.Module: Linear_")
        assert callers[2].startswith("nn.Module: Block_")
        # The timeline begins where the device works; everything is one key away.
        go(page, "#/timeline")
        page.eventually(READY)
        span = "stepscopeTimeline.view.to - stepscopeTimeline.view.from"
        assert 700_000 < page.run(span) < 800_000
        page.run("document.querySelector('.tl-main').focus()")
        page.press("0")
        page.eventually(f"{span} > 8_000_000")
        # An event leads back to the tables that it has a row in: a module does, a function of Python does not.
        links = "[...document.querySelectorAll('.tl-details .tl-links a')].map(a => a.textContent)"
        chosen = "window.stepscopeTimeline?.details.value?.name"
        for name, tables in (("Linear_2", True), ("train.py(7): log", False)):
            page.run(f"location.hash = '#/timeline?' + new URLSearchParams({{longest: {name!r}, table: 'modules'}})")
            page.eventually(f"{chosen}?.includes({name!r})")
            page.eventually(f"({links}).includes('modules') === {str(tables).lower()}")
        go(page, "#/flame?tab=host")
        page.eventually("!!document.querySelector('main .picker select')")
        page.run(
            "(select => { select.value = 'time'; select.dispatchEvent(new Event('change')); })"
            "([...document.querySelectorAll('main select')].at(-1))"
        )
        page.eventually("document.querySelector('main').textContent.includes('Like stacks are merged')")
        assert page.complaints() == []
        page.close()


def test_every_section_of_a_report_stands_on_the_overview_or_a_page_of_its_own() -> None:
    sources = (ROOT / "src/stepscope/reports/sections").glob("*.py")
    titles = {one for source in sources for one in re.findall(r'Section\(\s*"([^"]+)"', source.read_text("utf-8"))}
    shown = set(re.findall('"([^"]+)"', (ROOT / "page/src/pages/Overview.tsx").read_text("utf-8")))
    own = {"Ranks beside each other", "What ran", "Transfers, waits and launches", "Memory", "Tables"}
    assert titles - shown == own


def test_every_roof_that_operators_are_held_against_is_drawn(chromium: browser.Browser, demo_page: str) -> None:
    page = opened(chromium, demo_page, "#/roofline")
    page.eventually("document.querySelectorAll('polyline.roof').length === 2")
    said = page.run("[...document.querySelectorAll('text.roof')].map(one => one.textContent)")
    assert said[0].startswith("H100-SXM5-80GB bf16 matrix: 989 TFLOP/s")
    assert said[1].startswith("H100-SXM5-80GB bf16 vector: 134 TFLOP/s")
    page.close()
