"""What became of findings between two sides."""

from __future__ import annotations

from stepscope.comparison.findings import SideFindings, changes
from stepscope.rules.finding import Evidence, Finding


def finding(code: str, cost_ns: int | None) -> Finding:
    return Finding(code, "name", "host", "advice", "Title", "Summary.", cost_ns, None, 0.9, Evidence((0,)), ())


def test_what_became_of_findings() -> None:
    base = SideFindings(
        (finding("A", 100), finding("B", 100), finding("C", 100), finding("D", 100), finding("U", 900)),
        frozenset({"V", "D"}),
    )
    new = SideFindings(
        (finding("B", 150), finding("C", 104), finding("D", 10), finding("E", 30), finding("V", 800)), frozenset({"U"})
    )
    found = changes(base, new, 1000)
    assert [(one.code, one.change, one.diff_ns) for one in found] == [
        ("A", "gone", -100), ("D", "shrunk", -90), ("B", "grown", 50), ("E", "new", 30),
        ("U", "unknown", 0), ("V", "unknown", 0), ("C", "same", 4),
    ]  # fmt: skip
    assert [one.base_cost_ns for one in found if one.code == "V"] == [None]
