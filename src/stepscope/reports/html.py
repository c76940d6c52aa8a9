"""The report as one self-contained HTML page: no network, no other file, no server.

Its policy admits one style sheet and one script, both inside the page and named by their hash, so that nothing in a
recording could run even if it got into the page unescaped.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Iterator
from functools import cache
from html import escape
from importlib.resources import files
from typing import Final

from stepscope.language import said, spoken, told
from stepscope.reports.blocks import Outline
from stepscope.reports.contents import Contents
from stepscope.reports.html_blocks import anchor, section_html
from stepscope.reports.html_tables import MOST_ROWS, tables_html
from stepscope.reports.outline import outline

_ALL: Final = said("All tables")
#: Tags of languages in HTML (BCP 47).
_TAGS: Final = {"en": "en", "zh": "zh-Hans"}


def document(shown: Outline, tables: Iterable[str]) -> str:
    """A page and all tables below it, as a whole HTML document."""
    shown = shown.told()
    style, script = _asset("report.css"), _asset("report.js")
    policy = (
        f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'; base-uri 'none'; "
        "form-action 'none'"
    )
    return "".join(
        (
            f'<!doctype html>\n<html lang="{_TAGS[spoken()]}">\n<head>\n<meta charset="utf-8">\n',
            f'<meta http-equiv="Content-Security-Policy" content="{escape(policy)}">\n',
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n',
            '<meta name="referrer" content="no-referrer">\n',
            f"<title>{escape(shown.title)} · stepscope</title>\n<style>{style}</style>\n</head>\n<body>\n",
            *plain(shown, tables),
            f"<script>{script}</script>\n</body>\n</html>\n",
        )
    )


def content(report: Contents, top: int = 10, rows: int = MOST_ROWS) -> Iterator[str]:
    """The page and `rows` of all tables without document, style and script: for who needs them without a script."""
    return plain(outline(report, top), tables_html(report, _ALL, rows))


def title(report: Contents) -> str:
    """The title of the page."""
    return told(outline(report).title)


def style() -> str:
    """The style sheet of the page's content."""
    return _asset("report.css")


def fragment(report: Contents, top: int = 10) -> str:
    """The page's content for a notebook, with its style and without a script."""
    return outline_fragment(outline(report, top))


def outline_fragment(shown: Outline) -> str:
    """A page's content for a notebook, with its style and without a script."""
    return framed(_body(shown.told()))


def framed(content: Iterable[str]) -> str:
    """Content for a notebook, with its style."""
    return "".join((f'<style>{_asset("report.css")}</style><div class="stepscope">', *content, "</div>"))


def plain(shown: Outline, tables: Iterable[str]) -> Iterator[str]:
    """A page and all tables below it without document, style and script."""
    shown = shown.told()
    yield '<div class="stepscope">\n'
    yield from _contents(shown)
    yield "<main>\n"
    yield from _body(shown)
    yield from tables
    yield "</main>\n</div>\n"


def _body(shown: Outline) -> Iterator[str]:
    facts = " · ".join(map(escape, shown.facts))
    yield f"<header><h1>{escape(shown.title)}</h1><p>{facts}</p>\n"
    if shown.figures:
        yield '<dl class="figures">'
        for one in shown.figures:
            detail = f'<dd class="aside">{escape(one.detail)}</dd>' if one.detail else ""
            yield f"<div><dt>{escape(one.label)}</dt><dd>{escape(one.value)}</dd>{detail}</div>"
        yield "</dl>\n"
    yield "</header>\n"
    for section in shown.sections:
        yield section_html(section)


def _contents(shown: Outline) -> Iterator[str]:
    """Links to the sections, so that none is more than two keys away."""
    titles = [*(section.title for section in shown.sections), told(_ALL)]
    yield f'<nav aria-label="{told(said("Sections"))}"><ul>'
    yield from (f'<li><a href="#{anchor(title)}">{escape(title)}</a></li>' for title in titles)
    yield "</ul></nav>\n"


@cache
def _asset(name: str) -> str:
    return files("stepscope.reports").joinpath(f"assets/{name}").read_text(encoding="utf-8")


def _hash(content: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
