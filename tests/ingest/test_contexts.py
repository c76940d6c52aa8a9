"""Annotations that start inside the Python function which opens them, and outlive it."""

from __future__ import annotations

from support import Facts


def _parents(facts: Facts) -> dict[str, str | None]:
    trace = facts.trace()
    rows = trace.sql(
        "SELECT e.name, p.name AS parent FROM events e LEFT JOIN events p ON p.id = e.parent ORDER BY e.id"
    ).to_pylist()
    return {row["name"]: row["parent"] for row in rows}


def test_what_a_context_holds_lies_in_it_and_not_in_the_function_that_opened_it() -> None:
    facts = Facts()
    facts.host("python", "train", 0, 1000)
    facts.host("python", "__enter__", 100, 20)
    facts.host("python", "_ops.__call__", 105, 10)
    facts.host("op", "Forward", 110, 500)
    facts.host("op", "aten::mm", 300, 50)
    assert _parents(facts) == {
        "train": None,
        "__enter__": "train",
        "_ops.__call__": "__enter__",
        "Forward": "train",
        "aten::mm": "Forward",
    }


def test_an_operator_that_outlives_a_function_by_a_little_stays_in_it() -> None:
    facts = Facts()
    facts.host("python", "train", 0, 1000)
    facts.host("python", "step", 100, 200)
    facts.host("op", "aten::mm", 110, 195)
    facts.host("op", "aten::add", 310, 50)
    parents = _parents(facts)
    assert parents["aten::mm"] == "step"
    assert parents["aten::add"] == "train"
