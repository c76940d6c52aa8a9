"""What if, in the page: findings are ticked, parts scaled, and the step and its limit follow."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from starlette.testclient import TestClient

import browser
from stepscope.analyses.stepgraph.whatif.predictions import predictions
from stepscope.model.trace import Trace
from stepscope.web.app import create_app
from web.pages import axe, go, opened, violations

THEN = "document.querySelector('.whatif-then')?.textContent"


@pytest.fixture(scope="module")
def ask(demo_trace: Trace) -> Callable[[str], tuple[int, Any]]:
    client = TestClient(create_app(demo_trace, None), base_url="http://localhost")

    def answered(query: str) -> tuple[int, Any]:
        while (answer := client.get(f"/api/whatif{query}")).status_code == 202:
            assert set(answer.json()["progress"]) == {"what", "done", "total"}
        return answer.status_code, answer.json()

    return answered


def test_the_server_predicts_as_the_command_does(ask: Callable[[str], tuple[int, Any]], demo_trace: Trace) -> None:
    [(_, expected)] = predictions(demo_trace.for_thread(), {"scale": ["kernel:gemm=0.5"], "remove": ["data_wait"]})
    status, found = ask("?scale=kernel:gemm=0.5&remove=data_wait")
    assert status == 200
    assert found["prediction"]["new_ns"] == expected.new_ns
    assert sum(one["new_ns"] for one in found["path"]) == expected.new_ns
    assert [one["key"] for one in found["findings"]] == ["DAT001", "SYN002"]
    worth = {one["subject"]: one["removed_ns"] for one in found["parts"]}
    assert worth["data_wait"] == max(worth.values())


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("?finding=XXX001", "the rank has no finding 'XXX001'"),
        ("?scale=kernel", "'kernel' is no change"),
        ("?remove=comm", "the recording has no 'comm'"),
        ("?rank=7", "the recording has no rank 7"),
        ("?" + "&".join(["remove=kernel"] * 65), "a question may name 64 changes, not 65"),
    ],
)
def test_what_means_nothing_is_a_sentence(ask: Callable[[str], tuple[int, Any]], query: str, said: str) -> None:
    status, found = ask(query)
    assert (status, found["error"]) == (422, said)


def test_from_a_finding_to_the_step_without_it_and_its_new_limit(chromium: browser.Browser, demo_page: str) -> None:
    page = opened(chromium, demo_page)
    page.run("document.querySelector('.finding a[href^=\"#/whatif\"]').click()")
    page.eventually(f"{THEN} === '9.00 ms'", 60)
    assert page.run("document.querySelector('.whatif-row input').checked")
    page.run(
        "{ const slider = document.querySelectorAll('.whatif-part input[type=range]')[1]; slider.value = 50;"
        " slider.dispatchEvent(new Event('input', {bubbles: true})); }"
    )
    page.eventually(f"{THEN} && {THEN} !== '9.00 ms'")
    place, then = page.run("location.hash"), page.run(THEN)
    assert "findings=DAT001" in place
    page.run("[...document.querySelectorAll('.whatif button')].find(b => b.textContent === 'Change nothing').click()")
    page.eventually(f"{THEN} === '14.1 ms'")
    if (path := axe()) is not None:
        page.run(path.read_text(encoding="utf-8") + "; true")
        assert violations(page) == []
    # The address restores it.
    go(page, "#/overview")
    page.run(f"location.hash = {place!r}")
    page.eventually(f"{THEN} === {then!r}")
    assert page.complaints() == []
    page.close()
