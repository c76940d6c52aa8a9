"""What shows itself in a notebook: short, escaped, and without a script."""

from __future__ import annotations

from dataclasses import replace

import pytest

import stepscope.api  # noqa: F401 (presents what is shown)
from report_support import HOSTILE
from reports.test_html import parsed
from stepscope.comparison.build import CompareOptions, compare_traces
from stepscope.model.recording import Recording
from stepscope.model.schema import Column, TableSchema
from stepscope.model.showing import Shown
from stepscope.model.table import Table
from stepscope.reports.html import style
from stepscope.reports.notebook import html_of, trace_html
from stepscope.rules.finding import Action, Evidence, Finding
from support import Facts

SCHEMA = TableSchema(
    "waits",
    "Waits by name.",
    (Column("name", "string", "Who <waits>."), Column("total_ns", "int64", "How long.", "ns")),
)
FINDING = Finding(
    "DAT001", "waits", "data", "high", "It waits", "It waits long.", 5_000_000, 0.5, 1.0, Evidence(ranks=(0, 1)),
    (Action("Wait less", "n = 2", "n = 8"),), share=0.25,
)  # fmt: skip


def shown(value: object) -> str:
    """The HTML without style and frame."""
    html = html_of(value)
    assert html is not None
    assert html.startswith(f'<style>{style()}</style><div class="stepscope">')
    assert "<script" not in html
    return html.removeprefix(f'<style>{style()}</style><div class="stepscope">').removesuffix("</div>")


def test_a_table() -> None:
    assert shown(Table.from_rows(SCHEMA, [("load", 1500), ("read", 500)])) == (
        '<div class="scroll" tabindex="0" role="group" aria-label="waits"><table><caption>waits, 2 rows</caption>'
        "<thead><tr>"
        '<th scope="col" title="Who &lt;waits&gt;.">name</th><th scope="col" class="n" title="How long.">total ns</th>'
        "</tr></thead><tbody>\n"
        '<tr><td>load</td><td class="n" data-v="1500">1,500</td></tr>\n'
        '<tr><td>read</td><td class="n" data-v="500">500</td></tr>\n'
        "</tbody></table></div>\n"
    )


def test_a_long_table_is_cut() -> None:
    html = shown(Table.from_rows(SCHEMA, [(f"name {i}", i) for i in range(21)]))
    assert "21 rows of which 20 are shown" in html
    assert html.count("<tr>") == 21
    assert "name 20" not in html
    assert f'<td class="long">{"x" * 79}…</td>' in shown(Table.from_rows(SCHEMA, [("x" * 200, 1)]))


def test_a_finding() -> None:
    html = shown(FINDING)
    assert '<span class="title">It waits</span> <span class="worth">5.00 ms, 25.0 %, 2 ranks</span>' in html
    assert "<del>- n = 2</del>\n<ins>+ n = 8</ins>" in html


def test_a_comparison() -> None:
    facts = Facts()
    for number in range(3):
        facts.step(number, 1000 * number, 1000)
        facts.kernel("k", 1000 * number, 400)
    trace = facts.trace()
    compared = compare_traces(trace, trace, CompareOptions(findings=False))
    html = shown(compared)
    assert "<h2>Verdict</h2>" in html
    assert compared._repr_html_() == html_of(compared)


def test_an_open_trace() -> None:
    recordings = {rank: Recording(f"/logs/rank{rank}.json", "kineto", rank, events=1200) for rank in range(21)}
    html = trace_html(recordings, {0: 7})
    assert (
        '<tr><th scope="row" class="n">0</th><td>/logs/rank0.json</td><td class="n">1,200</td><td class="n">7</td></tr>'
        in html
    )
    assert html.count("/logs/") == 20
    assert "1 more rank" in html


def elements(name: str) -> list[list[tuple[str, list[str]]]]:
    """Elements of everything that has a name, with their attributes, and a check of their texts."""
    table = Table.from_rows(SCHEMA, [(name, 1)])
    finding = replace(FINDING, title=name, summary=name, actions=(Action(name, "a", "b"),), inspect=f"ncu {name}")
    found = []
    for html in (shown(table), shown(finding), trace_html({0: Recording(f"run/{name}", "kineto")}, {})):
        tree = parsed(html)
        assert not set("".join(tree.texts)) & {"\x1b", "\x9b", "\u202e", "\x00", "\u2066"}
        found.append([(tag, sorted(attributes)) for tag, attributes in tree.elements if tag != "td"])
    return found


@pytest.mark.parametrize("name", HOSTILE)
def test_names_are_text(name: str) -> None:
    assert elements(name) == elements("name")


def test_a_value_nobody_presents_shows_its_repr() -> None:
    class Other(Shown):
        pass

    assert Other()._repr_html_() is None
