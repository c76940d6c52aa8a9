"""Sections of an outline as HTML."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import escape
from typing import Final

from stepscope.language import listing, said, told
from stepscope.reports.blocks import PARTS, Bar, Bars, Grid, Heading, Item, Line, Section
from stepscope.reports.units import duration, percent

_TONES: Final = {"error": said("error:"), "warning": said("warning:")}
_WIDTH: Final = 1000
#: A square in the colour of a part of the budget.
_KEY: Final = '<svg viewBox="0 0 1 1"><rect class="p{}" width="1" height="1"></rect></svg>'
#: Characters beyond which a text may be broken anywhere rather than making its column wider.
_LONG: Final = 24


def anchor(title: str) -> str:
    """The name of a section, for links to it: `where-the-time-went`."""
    return re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")


def table_anchor(table: str) -> str:
    """The name of a table among all tables, for links to it."""
    return f"table-{anchor(table)}"


def scrolled(label: str) -> str:
    """Open a box that can be scrolled sideways by keyboard, for content wider than the page."""
    return f'<div class="scroll" tabindex="0" role="group" aria-label="{escape(label)}">'


def text_class(text: str) -> str:
    """The class of a cell of text: names may be broken anywhere, sentences between words."""
    if len(text) <= _LONG:
        return ""
    return "prose" if text.count(" ") >= len(text) / 10 else "long"


def section_html(section: Section) -> str:
    """A section with its heading."""
    aside = f'<p class="aside">{escape(section.aside)}</p>' if section.aside else ""
    head = f'<section id="{anchor(section.title)}"><h2>{escape(section.title)}</h2>{aside}\n'
    return f"{head}{''.join(_blocks(section))}</section>\n"


def _blocks(section: Section) -> Iterator[str]:
    open_list = False
    for block in section.blocks:
        if isinstance(block, Line) and not open_list:
            yield '<ul class="lines">\n'
        elif open_list and not isinstance(block, Line):
            yield "</ul>\n"
        open_list = isinstance(block, Line)
        if isinstance(block, Line):
            yield _line(block)
        elif isinstance(block, Bars):
            yield from _bars(block, section.title)
        elif isinstance(block, Item):
            yield from item_html(block)
        else:
            yield from _grid(block, section.title)
    if open_list:
        yield "</ul>\n"


def _line(line: Line) -> str:
    word = f"<strong>{told(_TONES[line.tone])}</strong> " if line.tone in _TONES else ""
    detail = f' <span class="aside">→ {escape(line.detail)}</span>' if line.detail else ""
    return f'<li class="{line.tone}">{word}{escape(line.text)}{detail}</li>\n'


def item_html(item: Item) -> Iterator[str]:
    """A finding: unfolded where it matters most."""
    yield f'<details class="finding {item.tone}"{" open" if item.number <= 3 else ""}><summary><span class="title">'
    number = f"{item.number}. " if item.number else ""
    yield f'{number}{escape(item.title)}</span> <span class="worth">{escape(item.worth)}</span></summary>\n'
    yield f"<p>{escape(item.text)} <code>{escape(item.code)}</code></p>\n"
    if item.remedies:
        yield "<ul>\n"
        for remedy in item.remedies:
            yield f"<li>{escape(remedy.text)}"
            if remedy.after:
                yield '<pre tabindex="0">'
                yield "".join(f"<del>- {escape(line)}</del>\n" for line in remedy.before)
                yield "".join(f"<ins>+ {escape(line)}</ins>\n" for line in remedy.after)
                yield "</pre>"
            yield "</li>\n"
        yield "</ul>\n"
    if item.inspect:
        yield f"<p>{told(said('Look inside: '))}<code>{escape(item.inspect)}</code></p>\n"
    if item.also:
        also = said("It also explains: {findings}", findings=listing(item.also, "; "))
        yield f'<p class="aside">{escape(told(also))}</p>\n'
    yield "</details>\n"


def _bars(block: Bars, title: str) -> Iterator[str]:
    used = [i for i, _ in enumerate(PARTS) if any(row.parts[i] for row in block.rows)]
    longest = max(row.total for row in block.rows) or 1
    yield '<p class="key aside" aria-hidden="true">'
    yield "".join(f"<span>{_KEY.format(i)}{told(PARTS[i][1])}</span> " for i in used)
    yield f'</p>\n{scrolled(title)}<table class="budget"><thead><tr><th scope="col">step</th><th scope="col" class="n">'
    yield f'{told(said("total"))}</th><th scope="col">{told(said("budget"))}</th>'
    yield "".join(f'<th scope="col" class="n">{told(PARTS[i][1])}</th>' for i in used)
    yield "</tr></thead><tbody>\n"
    for row in block.rows:
        yield f'<tr><th scope="row">{escape(row.label)}</th><td class="n">{duration(row.total)}</td><td>'
        yield _bar(row, longest)
        yield "</td>"
        for i in used:
            yield f'<td class="n">{percent(row.parts[i] / row.total if row.total else 0.0)}</td>'
        yield "</tr>\n"
    yield "</tbody></table></div>\n"


def _bar(row: Bar, longest: int) -> str:
    """A stacked bar; its label says the same in words."""
    words = ", ".join(
        f"{told(name)} {duration(part)}" for (_, name), part in zip(PARTS, row.parts, strict=True) if part
    )
    parts: list[str] = []
    at = 0
    for i, part in enumerate(row.parts):
        left, right = _WIDTH * at // longest, _WIDTH * (at + part) // longest
        at += part
        if part:
            name = told(PARTS[i][1])
            parts.append(
                f'<rect class="p{i}" x="{left}" y="0" width="{max(1, right - left)}" height="16">'
                f"<title>{name} {duration(part)}</title></rect>"
            )
    return (
        f'<svg class="bar" viewBox="0 0 {_WIDTH} 16" preserveAspectRatio="none" role="img" aria-label="{words}">'
        + "".join(parts)
        + "</svg>"
    )


def _grid(grid: Grid, title: str) -> Iterator[str]:
    yield f"{scrolled(grid.caption or title)}<table>"
    if grid.caption:
        yield f"<caption>{escape(grid.caption)}</caption>"
    yield "<thead><tr>"
    for heading in grid.headings:
        kind = ' class="n"' if heading.number else ""
        yield "<td></td>" if heading.bar else f'<th scope="col"{kind}>{escape(heading.text)}</th>'
    yield "</tr></thead><tbody>\n"
    for row in grid.rows:
        yield f"<tr>{_row_heading(str(row[0]))}"
        yield "".join(_cell(heading, cell) for heading, cell in zip(grid.headings[1:], row[1:], strict=True))
        yield "</tr>\n"
    yield "</tbody></table></div>\n"
    if grid.hidden:
        link = f'<a href="#{table_anchor(grid.table)}">{escape(grid.table)}</a>'
        more = escape(told(said("{rows:,} more in the table", rows=grid.hidden)))
        yield f'<p class="aside">{more} {link}</p>\n'


def _row_heading(value: str) -> str:
    kind = " ".join(filter(None, ("inner" if value.startswith("  ") else "", text_class(value.strip()))))
    named = f' class="{kind}"' if kind else ""
    return f'<th scope="row"{named}>{escape(value.strip())}</th>'


def _cell(heading: Heading, value: str | float) -> str:
    if heading.bar:
        if not isinstance(value, float):
            return "<td></td>"
        width = round(100 * min(1.0, max(0.0, value)), 1)
        return (
            '<td><svg class="share" viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">'
            f'<rect class="track" width="100" height="10"></rect><rect width="{width}" height="10"></rect></svg></td>'
        )
    written = str(value).strip()
    kind = "n" if heading.number else text_class(written)
    return f'<td class="{kind}">{escape(written)}</td>' if kind else f"<td>{escape(written)}</td>"
