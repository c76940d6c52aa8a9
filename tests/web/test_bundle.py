"""The committed bundle: there, small, and sufficient by itself."""

from __future__ import annotations

import re

import pytest

from stepscope.web.routes.bundle import asset

MOST_BYTES = 290_000


def test_the_budget() -> None:
    assert 10_000 < len(asset("app.js")) < MOST_BYTES
    assert len(asset("app.css")) < 40_000
    assert len(asset("zh.js")) < 70_000, "loaded by documents in Chinese alone"


@pytest.mark.parametrize("name", ["index.html", "app.js", "zh.js", "app.css"])
def test_nothing_is_loaded_from_elsewhere(name: str) -> None:
    text = asset(name).decode()
    addresses = set(re.findall(r"https?://[^\s\"'`)]+", text))
    # Names of XML, which no browser asks for.
    assert {one for one in addresses if not one.startswith("http://www.w3.org/")} == set()
    assert not re.search(r"url\((?!data:)|@import|sourceMappingURL", text)


def test_licences_of_what_is_bundled() -> None:
    text = asset("LICENSES.txt").decode()
    assert all(f"{name} " in text for name in ("preact", "@preact/signals", "uplot"))
    assert text.count("Permission is hereby granted") >= 3


def test_a_page_whose_parts_do_not_load_says_why() -> None:
    """As behind a proxy whose address lacks its last slash: what the style would hide is read."""
    assert '<p class="unstyled">' in asset("index.html").decode()
    assert ".unstyled{display:none}" in asset("app.css").decode()
