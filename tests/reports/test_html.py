from __future__ import annotations

import base64
import hashlib
import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from report_support import HOSTILE, plain_page, sample_report
from stepscope.reports.blocks import Item
from stepscope.reports.html import content, fragment
from stepscope.reports.html_blocks import item_html

#: Elements without an end tag.
VOID = {"meta", "br", "img", "input", "link", "hr"}


class Tree(HTMLParser):
    """Collects elements and checks that they are closed in order."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def parsed(html: str) -> Tree:
    tree = Tree()
    tree.feed(html)
    tree.close()
    assert tree.open == []
    return tree


def test_a_page_needs_nothing_else_and_admits_nothing_else() -> None:
    html = plain_page(sample_report())
    tree = parsed(html)
    for tag, attributes in tree.elements:
        assert not {"src", "style", "action", "data"} & set(attributes), tag
        assert not any(name.startswith("on") for name in attributes), tag
    [policy] = [a["content"] or "" for t, a in tree.elements if a.get("http-equiv") == "Content-Security-Policy"]
    assert "unsafe" not in policy
    assert policy.startswith("default-src 'none'; ")
    for tag, directive in (("style", "style-src"), ("script", "script-src")):
        [content] = re.findall(f"<{tag}>(.*?)</{tag}>", html, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert f"{directive} 'sha256-{digest}'" in policy
    assert "http://" not in html
    assert "https://" not in html
    assert "url(" not in html


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_are_text(name: str) -> None:
    plain = parsed(plain_page(sample_report()))
    tree = parsed(plain_page(sample_report((name, "add"), source=f"run/{name}.json")))
    assert [tag for tag, _ in tree.elements] == [tag for tag, _ in plain.elements]
    assert not set("".join(tree.texts)) & {"\x1b", "\x9b", "\u202e", "\x00", "\u2066"}


def test_what_a_screen_reader_gets() -> None:
    tree = parsed(plain_page(sample_report()))
    assert ("html", {"lang": "en"}) in tree.elements
    bars = [a for t, a in tree.elements if t == "svg" and a.get("role") == "img"]
    assert bars[0]["aria-label"] == (
        "compute 6.00 ms, exposed communication 1.00 ms, exposed copy 500 µs, idle 2.50 ms"
    )
    headings = [a for t, a in tree.elements if t == "th"]
    assert all(a.get("scope") in ("col", "row") for a in headings)


def test_links_lead_to_places_of_the_page() -> None:
    tree = parsed(plain_page(sample_report()))
    links = [attributes["href"] or "" for _, attributes in tree.elements if "href" in attributes]
    places = [attributes["id"] for _, attributes in tree.elements if "id" in attributes]
    assert len(set(places)) == len(places)
    assert "#where-the-time-went" in links
    assert {link[:1] for link in links} == {"#"}
    assert {link[1:] for link in links} <= set(places)


def test_the_figures_that_a_reader_wants_first() -> None:
    html = plain_page(sample_report())
    for label, value, detail in (
        ("mean step", "9.00 ms", "8.00 ms to 10.0 ms"),
        ("compute", "66.7 %", "6.00 ms per step"),
        ("idle", "19.4 %", "1.75 ms per step"),
        ("mostly idle for", "data wait", "16.7 % of the step"),
    ):
        assert f'<div><dt>{label}</dt><dd>{value}</dd><dd class="aside">{detail}</dd></div>' in html


def test_a_fragment_for_notebooks_has_no_script() -> None:
    tree = parsed(fragment(sample_report()))
    assert "script" not in [tag for tag, _ in tree.elements]
    assert "Where the time went" in tree.texts
    assert sample_report()._repr_html_() == fragment(sample_report())


def test_the_content_without_a_script_is_that_of_the_document() -> None:
    report = sample_report()
    assert "".join(content(report)) in plain_page(report)


def test_what_a_finding_explains_is_said_where_there_is_any() -> None:
    item = Item(1, "HST001", "a title", "5 %", "a text")
    assert "It also explains" not in "".join(item_html(item))
    assert "It also explains: one; &lt;two&gt;</p>" in "".join(item_html(replace(item, also=("one", "<two>"))))
