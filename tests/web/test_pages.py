"""The page in a real browser."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import browser
from stepscope.demo import recording
from web.serving import viewed


@pytest.fixture(scope="module")
def demo() -> Iterator[str]:
    with recording() as path, viewed(path) as address:
        yield address


def opened(chromium: browser.Browser, address: str, place: str = "", scheme: str = "light") -> browser.Page:
    page = chromium.page(address + place, 1280, scheme, 800)
    page.eventually("!!document.querySelector('main h1') && !document.querySelector('progress, [aria-busy]')")
    return page


def test_the_overview_shows_findings_and_asks_nobody_else(chromium: browser.Browser, demo: str) -> None:
    page = opened(chromium, demo)
    assert page.run("document.querySelector('.finding .title').textContent") == "1. The step waits for data"
    assert page.run("document.querySelectorAll('.budget tbody tr').length") == 5
    assert page.complaints() == []
    assert {one.split("/")[2] for one in page.requested()} == {demo.split("/")[2]}


def test_from_a_finding_to_its_row(chromium: browser.Browser, demo: str) -> None:
    page = opened(chromium, demo)
    page.run("[...document.querySelectorAll('.places a')].find(a => a.textContent === 'Row of dataloader').click()")
    page.eventually("document.querySelectorAll('.table tbody tr').length === 1")
    assert page.run("document.querySelector('.table tbody th').textContent").startswith("enumerate(DataLoader)")


def test_a_wrong_token_is_a_sentence(chromium: browser.Browser, demo: str) -> None:
    page = chromium.page(demo.replace("token=", "token=x"), 1280)
    page.eventually("!!document.querySelector('[role=alert]')")
    assert "stepscope view" in page.run("document.querySelector('[role=alert]').textContent")
