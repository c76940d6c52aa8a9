"""The report as one page that needs nothing else: no network, no other file, no server.

Its policy admits one style sheet and one script, both inside the page and named by their hash, so that nothing in a
recording could run even if it got into the page unescaped.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator
from functools import cache
from html import escape
from importlib.resources import files
from typing import Any

from stepscope.model.schema import Column
from stepscope.model.table import Table
from stepscope.reports.html_blocks import section_html
from stepscope.reports.outline import Outline, outline
from stepscope.reports.report import Report
from stepscope.reports.text import cut, plural
from stepscope.reports.units import Scale, scale

#: Rows of a table beyond which a page gets too slow to be useful, and characters of a cell.
_MOST_ROWS = 1000
_LONGEST = 400


def page(report: Report, top: int = 10) -> str:
    """A whole HTML document."""
    shown = outline(report, top)
    style, script = _asset("report.css"), _asset("report.js")
    policy = (
        f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'; base-uri 'none'; "
        "form-action 'none'"
    )
    return "".join(
        (
            '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n',
            f'<meta http-equiv="Content-Security-Policy" content="{escape(policy)}">\n',
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n',
            '<meta name="referrer" content="no-referrer">\n',
            f"<title>{escape(shown.title)} · stepscope</title>\n<style>{style}</style>\n</head>\n<body>\n",
            '<main class="stepscope">\n',
            *_body(shown),
            *_tables(report),
            f"</main>\n<script>{script}</script>\n</body>\n</html>\n",
        )
    )


def fragment(report: Report, top: int = 10) -> str:
    """The page's content for a notebook, with its style and without a script."""
    return "".join(
        (f'<style>{_asset("report.css")}</style><div class="stepscope">', *_body(outline(report, top)), "</div>")
    )


def _body(shown: Outline) -> Iterator[str]:
    facts = " · ".join(map(escape, shown.facts))
    yield f"<header><h1>{escape(shown.title)}</h1><p>{facts}</p></header>\n"
    for section in shown.sections:
        yield section_html(section)


def _tables(report: Report) -> Iterator[str]:
    computed = {name: table for name, table in report.tables.items() if report.computed(name)}
    if computed:
        yield '<section><h2>All tables</h2><p class="aside">Select a heading to sort by it.</p>\n'
        for name, table in computed.items():
            yield from _table(name, table)
        yield "</section>\n"


def _table(name: str, table: Table) -> Iterator[str]:
    rows = table.head(_MOST_ROWS).rows()
    columns = table.schema.columns
    scales = [scale(column, (row[i] for row in rows)) for i, column in enumerate(columns)]
    yield f'<details><summary>{escape(name)} <span class="aside">{plural(len(table), "row")}</span></summary>'
    yield f'<p>{escape(table.schema.description)}</p><div class="scroll"><table class="sortable"><thead><tr>'
    for column, one in zip(columns, scales, strict=True):
        unit = f" {one.label}" if one.label else ""
        yield f'<th scope="col" title="{escape(column.description)}"><button type="button">'
        yield f"{escape(column.name.removesuffix('_ns') + unit)}</button></th>"
    yield "</tr></thead><tbody>\n"
    for row in rows:
        cells = zip(row, columns, scales, strict=True)
        yield "<tr>" + "".join(_cell(value, column, one) for value, column, one in cells) + "</tr>\n"
    yield "</tbody></table></div>"
    if len(table) > len(rows):
        yield f"<p>{len(table) - len(rows):,} more rows are in the JSON report.</p>"
    yield "</details>\n"


def _cell(value: Any, column: Column, one: Scale) -> str:
    written = escape(cut(one.write(value), _LONGEST))
    if isinstance(value, (int, float)) and not isinstance(value, bool) and column.type != "string":
        return f'<td class="n" data-v="{value!r}">{written}</td>'
    return f"<td>{written}</td>"


@cache
def _asset(name: str) -> str:
    return files("stepscope.reports").joinpath(f"assets/{name}").read_text(encoding="utf-8")


def _hash(content: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
