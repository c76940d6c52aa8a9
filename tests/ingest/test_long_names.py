"""Names that are too long to be shown are cut, stay distinct, and are kept whole once."""

from __future__ import annotations

from stepscope.model.sizes import SIZES
from support import Facts


def test_a_name_as_long_as_may_be_stays_as_it_is() -> None:
    with SIZES.changed(name_characters=100):
        f = Facts()
        f.host("op", "a" * 100, 0, 10)
        trace = f.trace()
    assert trace.rows("SELECT name FROM events") == [{"name": "a" * 100}]
    assert trace.scalar("SELECT count(*) FROM long_texts") == 0
    assert trace.scalar("SELECT count(*) FROM health WHERE code = 'name-long'") == 0


def test_longer_ones_are_cut_told_apart_and_kept_whole() -> None:
    first, second = "ä" * 500 + "x", "ä" * 500 + "y"
    with SIZES.changed(name_characters=100):
        f = Facts()
        for at, name in enumerate((first, second, first)):
            f.host("op", name, at * 20, 10)
        trace = f.trace()
    names = [row["name"] for row in trace.rows("SELECT name FROM events ORDER BY id")]
    assert names[0] == names[2] != names[1]
    assert all(len(name) <= 100 and name.startswith("ä" * 52 + "… [501 characters, ") for name in names)
    kept = {row["text"]: row["whole"] for row in trace.rows("SELECT text, whole FROM long_texts")}
    assert kept == {names[0]: first, names[1]: second}
    [said] = trace.rows("SELECT severity, count FROM health WHERE code = 'name-long'")
    assert said == {"severity": "info", "count": 2}
