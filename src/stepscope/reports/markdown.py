"""The report as Markdown (GitHub's dialect), for issues, pull requests and notes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from stepscope.language import listing, said, told
from stepscope.reports.blocks import PARTS, Bars, Block, Grid, Item, Line, Outline
from stepscope.reports.contents import Contents
from stepscope.reports.outline import outline
from stepscope.reports.text import cut
from stepscope.reports.units import duration, percent

#: Everything that means something in Markdown or in the HTML it may hold, or that GitHub makes a link of.
_SPECIAL: Final = re.compile(r"[\\`*_{}\[\]<>#|~&!$@]|://|www\.")
#: What makes a list or a heading of a paragraph.
_OPENING: Final = re.compile(r"^(?:[-+=]|\d+[.)])")
_LONGEST: Final = 200
_BAR: Final = 24
_GLYPHS: Final = ("█", "▓", "▒", "·")
_TONES: Final = {"error": said("error"), "warning": said("warning")}


def text(report: Contents, top: int = 10) -> str:
    """The report as a Markdown document."""
    return page_text(outline(report, top))


def page_text(page: Outline) -> str:
    """A page as a Markdown document."""
    page = page.told()
    lines = [f"# {escaped(page.title)}", "", _paragraph(" · ".join(page.facts)), ""]
    for section in page.sections:
        lines += [f"## {escaped(section.title)}", ""]
        if section.aside:
            lines += [_paragraph(section.aside), ""]
        for position, block in enumerate(section.blocks):
            following = section.blocks[position + 1 : position + 2]
            lines += _block(block)
            if not (isinstance(block, Line) and following and isinstance(following[0], Line)):
                lines.append("")
    return "\n".join(lines).rstrip() + "\n"


def escaped(value: str) -> str:
    """Text that Markdown shows literally: special characters become HTML entities, and no link is made of it."""
    return _SPECIAL.sub(_entities, value)


def _paragraph(value: str) -> str:
    found = _OPENING.match(value)
    return escaped(value) if found is None else _entities(found) + escaped(value[found.end() :])


def _entities(match: re.Match[str]) -> str:
    return "".join(f"&#{ord(character)};" for character in match.group())


def _block(block: Block) -> Iterator[str]:
    if isinstance(block, Line):
        detail = f" → {escaped(block.detail)}" if block.detail else ""
        tone = f"**{told(_TONES[block.tone])}**: " if block.tone in _TONES else ""
        yield f"- {tone}{escaped(block.text)}{detail}"
    elif isinstance(block, Bars):
        yield from _bars(block)
    elif isinstance(block, Item):
        yield from _item(block)
    else:
        yield from _grid(block)


def _item(item: Item) -> Iterator[str]:
    yield f"### {item.number}. {escaped(item.title)} ({escaped(item.worth)})"
    yield ""
    yield f"{escaped(item.text)} ({item.code})"
    for remedy in item.remedies:
        yield ""
        yield f"- {escaped(remedy.text)}" + (f" (`stepscope rules {remedy.page}`)" if remedy.page else "")
        if remedy.after:
            yield ""
            yield "  ```diff"
            yield from (f"  - {line.replace('`', chr(39))}" for line in remedy.before)
            yield from (f"  + {line.replace('`', chr(39))}" for line in remedy.after)
            yield "  ```"
    if item.inspect:
        yield ""
        yield f"{told(said('Look inside: '))}`{item.inspect.replace('`', chr(39))}`"
    if item.also:
        yield ""
        yield escaped(told(said("It also explains: {findings}.", findings=listing(item.also, "; "))))


def _bars(block: Bars) -> Iterator[str]:
    used = [i for i, _ in enumerate(PARTS) if any(row.parts[i] for row in block.rows)]
    longest = max(row.total for row in block.rows) or 1
    yield f"| | {told(said('total'))} | | " + " | ".join(told(PARTS[i][1]) for i in used) + " |"
    yield "|---|--:|---|" + "--:|" * len(used)
    for row in block.rows:
        bar = "".join(_GLYPHS[i] * round(_BAR * row.parts[i] / longest) for i in used)
        shares = " | ".join(percent(row.parts[i] / row.total if row.total else 0.0) for i in used)
        yield f"| {escaped(row.label)} | {duration(row.total)} | `{bar or ' '}` | {shares} |"


def _grid(grid: Grid) -> Iterator[str]:
    kept = [i for i, heading in enumerate(grid.headings) if not heading.bar]
    if grid.caption:
        yield f"**{escaped(grid.caption)}**"
        yield ""
    yield "| " + " | ".join(escaped(grid.headings[i].text) for i in kept) + " |"
    yield "|" + "|".join("--:" if grid.headings[i].number else "---" for i in kept) + "|"
    for row in grid.rows:
        yield "| " + " | ".join(_cell(str(row[i])) for i in kept) + " |"
    if grid.hidden:
        yield ""
        yield told(said("{rows:,} more rows in `{table}`.", rows=grid.hidden, table=grid.table))


def _cell(value: str) -> str:
    """A cell: as code where that shows special characters as they are, which is easier to read than entities."""
    indent = len(value) - len(value.lstrip(" "))
    shown = cut(value.strip(" "), _LONGEST)
    plain = escaped(shown)
    if plain != shown and not any(character in shown for character in "`|\\"):
        plain = f"`{shown}`"
    return "&nbsp;" * indent + plain
