"""The whole way from a finding to its place: a click on the overview, and what it concerns is chosen and seen."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pytest

import browser
from stepscope.simulate import SimJob, simulate
from web.pages import READY, go, opened
from web.serving import viewed

#: Formats that have a timeline.
TIMELINES = ("kineto", "ascend", "nsight")
#: What is selected, and whether it is in the window and its row in the box that scrolls; and the middle of where it is.
PLACE = """(() => {
  const board = stepscopeTimeline, {rank, id, start, dur, track, lane} = board.selected.value, {from, to} = board.view;
  const box = document.querySelector('.tl-scroll.scrolled');
  const canvas = box.querySelector('canvas').getBoundingClientRect();
  const row = board.rows('scrolled').find(one => one.form === 'track' && one.track.index === track);
  const y = row.y + (row.small ? 5 : 17) * (lane + 0.5) + 2 - box.scrollTop;
  return {rank, id, seen: from <= start && start + dur <= to && y > 0 && y < box.clientHeight, share: dur / (to - from),
          x: canvas.left + board.view.x(start + dur / 2), y: box.getBoundingClientRect().top + y};
})()"""
SETTLED = (
    "window.stepscopeTimeline && stepscopeTimeline.store.pending === 0 && !!document.querySelector('.tl-panel h2')"
)


@pytest.fixture(scope="module", params=TIMELINES)
def timed(request: pytest.FixtureRequest, simulated_page: Callable[[str], str]) -> str:
    return simulated_page(request.param)


def asked(address: str, path: str, body: Any = None) -> Any:
    base, token = address.split("?")
    data = None if body is None else json.dumps(body).encode()
    with urlopen(Request(f"{base}api/{path}?{token}", data, {"Content-Type": "application/json"})) as answer:
        return json.load(answer)


def table(address: str, name: str) -> list[dict[str, Any]]:
    found = asked(address, f"tables/{name}")
    return [dict(zip((column["name"] for column in found["columns"]), row, strict=True)) for row in found["rows"]]


def rows(address: str, sql: str) -> list[list[Any]]:
    found: list[list[Any]] = asked(address, "query", {"sql": sql})["rows"]
    return found


def follow(page: browser.Page, link: str) -> None:
    go(page, "#/overview")
    page.run(f"[...document.querySelectorAll('.places a')].find(a => a.hash === {link!r}).click()")


def links(page: browser.Page, to: str) -> list[str]:
    found: list[str] = page.run(
        f"[...document.querySelectorAll('.places a')].map(a => a.hash).filter(h => h.includes({to!r}))"
    )
    return list(dict.fromkeys(found))


def at_rest(page: browser.Page) -> dict[str, Any]:
    """Where the selected event is, once rows no longer move."""
    before, place = None, page.run(PLACE)
    while before != place or not page.run(SETTLED):
        time.sleep(0.1)
        before, place = place, page.run(PLACE)
    assert place["seen"]
    return dict(place)


def test_events_are_chosen_seen_and_what_is_drawn_there_and_rows_exist(chromium: browser.Browser, timed: str) -> None:
    page = opened(chromium, timed)
    findings = asked(timed, "report")["findings"]
    known = [
        (one["evidence"]["ranks"][0], event, number)
        for number, one in enumerate(findings, 1)
        for event in one["evidence"]["events"][:3]
    ]
    places = links(page, "event=")
    assert places == [f"#/timeline?rank={rank}&event={event}&finding={number}" for rank, event, number in known]
    # The first, another one of the same finding, and the last, which is far from these.
    for rank, event, number in (known[0], known[1], known[-1]):
        [[name, dur]] = rows(timed, f"SELECT name, dur FROM events WHERE rank = {rank} AND id = {event}")
        follow(page, f"#/timeline?rank={rank}&event={event}&finding={number}")
        page.eventually(f"{SETTLED} && stepscopeTimeline.selected.value?.id === {event}")
        place = at_rest(page)
        assert (place["rank"], place["id"]) == (rank, event)
        # An event may be a place of several findings: it is that of the one from which the link leads.
        page.eventually(f"document.querySelector('.tl-way strong')?.textContent.startsWith('{number}. ')")
        assert place["share"] > 0.05
        assert page.run("document.querySelector('.tl-panel h2').textContent") == name
        assert page.run("stepscopeTimeline.details.value.event.dur") == dur
        page.run("stepscopeTimeline.selected.value = null")
        for kind in ("mousePressed", "mouseReleased"):
            page.send(
                "Input.dispatchMouseEvent", type=kind, x=place["x"], y=place["y"], button="left", clickCount=1,
                buttons=int(kind == "mousePressed"),
            )  # fmt: skip
        page.eventually(f"stepscopeTimeline.selected.value?.id === {event}")
    go(page, "#/overview")
    for link in links(page, "#/tables"):
        follow(page, link)
        page.eventually("!document.querySelector('.places') && " + READY)
        assert page.run("document.querySelectorAll('.table tbody tr').length") > 0, link
    assert page.complaints() == []
    page.close()


def test_of_a_snapshot_the_allocation_the_moment_and_blocks(chromium: browser.Browser, tmp_path: Path) -> None:
    simulate(SimJob(steps=6, layers=1, leak_bytes=1_900_000), tmp_path, "memsnapshot", faults=("allocator-churn",))
    with viewed(tmp_path) as address:
        page = opened(chromium, address)
        [stack], [moment] = links(page, "tab=allocations"), links(page, "tab=time")
        follow(page, stack)
        page.eventually("document.querySelectorAll('.allocations .details .frames li').length > 0")
        [kept] = [row for row in table(address, "memory_unreturned") if row["is_candidate"]]
        said = page.run("[...document.querySelectorAll('.details .frames li')].map(one => one.textContent)")
        assert said == kept["frames"]
        assert page.run("document.querySelector('.details p').textContent").endswith("never freed")
        follow(page, moment)
        page.eventually("!!document.querySelector('.live h2')")
        # Marks of the pointer lie in what scrolls, not below the end of the document.
        page.run("document.querySelector('main').scrollTo(0, 1e6)")
        assert page.run("document.scrollingElement.scrollHeight <= innerHeight")
        when = max(table(address, "cache_flushes"), key=lambda row: row["bytes"])["ts"]
        before = max(row["seq"] for row in table(address, "allocator_timeline") if row["ts"] <= when)
        assert page.run("[...document.querySelectorAll('.moment output')].at(-1).textContent").endswith(
            f"event {before:,}"
        )
        go(page, "#/memory?tab=segments")
        page.eventually("!!document.querySelector('.segments g rect')")
        largest = rows(address, "SELECT segment, address, kind FROM segments ORDER BY bytes DESC, address LIMIT 1")[0]
        blocks = rows(address, f"SELECT address, state FROM blocks WHERE segment = {largest[0]} ORDER BY address")
        said = "document.querySelector('.segments .details')?.textContent ?? ''"
        click = "new MouseEvent('click', {bubbles: true})"
        for at, (place, state) in enumerate(blocks[:2]):
            page.run(f"document.querySelectorAll('.segments g rect')[{at}].dispatchEvent({click})")
            page.eventually(f"({said}).includes({f'At {place:#x},'!r})")
            assert state in page.run(said)
        page.run("document.querySelector('.segments svg').focus()")
        page.press("Enter")
        page.eventually(f"({said}).includes({f'at {largest[1]:#x}'!r})")
        assert f"of {len(blocks)} blocks" in page.run(said)
        assert largest[2] in page.run(said)
        page.press("ArrowRight")
        page.eventually(f"({said}).includes({f'At {blocks[0][0]:#x},'!r})")
        assert page.complaints() == []
        page.close()


def test_names_in_links_are_as_they_are(chromium: browser.Browser, tmp_path: Path) -> None:
    """Words begin a line with a capital letter; a node of ONNX Runtime may begin with a small one."""
    path = tmp_path / "onnxruntime_profile.json"
    run = {"ph": "X", "cat": "Session", "name": "SequentialExecutor::Execute", "pid": 1, "tid": 1, "args": {}}
    node = {**run, "cat": "Node", "name": "fusedGemm_kernel_time", "dur": 8_000}
    events = [{**run, "ts": 0, "dur": 9_000}, {**node, "ts": 500}]
    path.write_text(json.dumps(events), encoding="utf-8")
    with viewed(path, store=tmp_path / "store") as address:
        page = opened(chromium, address)
        page.eventually("document.querySelector('.places a')?.textContent.startsWith('fusedGemm of 8.00 ms')")
