from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepscope.model.amounts import plural
from stepscope.reports.text import cut, visible


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain é 漢字 µs", "plain é 漢字 µs"),
        ("a\nb\tc\r", "a\\nb\\tc\\r"),
        ("\x1b[31m\x9b", "\\x1b[31m\\x9b"),
        ("\u202egnp.exe", "\\u202egnp.exe"),
        ("a\u200bb\ufeff\u2028", "a\\u200bb\\ufeff\\u2028"),
        ("\U000e0041", "\\U000e0041"),
        ("\ud800", "\\ud800"),
    ],
)
def test_what_does_not_show_becomes_an_escape(text: str, shown: str) -> None:
    assert visible(text) == shown


@given(st.text())
def test_nothing_invisible_is_left(text: str) -> None:
    shown = visible(text)
    assert not any(unicodedata.category(c) in ("Cc", "Cs") for c in shown)
    assert not any(
        unicodedata.bidirectional(c) in ("RLO", "LRO", "RLE", "LRE", "PDF", "RLI", "LRI", "FSI") for c in shown
    )
    assert visible(shown) == shown


def test_cut_and_plural() -> None:
    assert cut("abcdef", 6) == "abcdef"
    assert cut("abcdefg", 6) == "abcde…"
    assert (plural(1, "step"), plural(12_345, "step"), plural(2, "query", "queries")) == (
        "1 step",
        "12,345 steps",
        "2 queries",
    )
