"""Sections of an outline as HTML."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from stepscope.reports.outline import PARTS, Bar, Bars, Block, Grid, Line, Section
from stepscope.reports.units import duration, percent

_WIDTH = 1000


def section_html(section: Section) -> str:
    """A section with its heading."""
    aside = f'<p class="aside">{escape(section.aside)}</p>' if section.aside else ""
    return f"<section><h2>{escape(section.title)}</h2>{aside}\n{''.join(_blocks(section.blocks))}</section>\n"


def _blocks(blocks: tuple[Block, ...]) -> Iterator[str]:
    open_list = False
    for block in blocks:
        if isinstance(block, Line) and not open_list:
            yield '<ul class="lines">\n'
        elif open_list and not isinstance(block, Line):
            yield "</ul>\n"
        open_list = isinstance(block, Line)
        if isinstance(block, Line):
            yield _line(block)
        elif isinstance(block, Bars):
            yield from _bars(block)
        else:
            yield from _grid(block)
    if open_list:
        yield "</ul>\n"


def _line(line: Line) -> str:
    word = f"<strong>{line.tone}</strong> " if line.tone in ("error", "warning") else ""
    detail = f' <span class="aside">→ {escape(line.detail)}</span>' if line.detail else ""
    return f'<li class="{line.tone}">{word}{escape(line.text)}{detail}</li>\n'


def _bars(block: Bars) -> Iterator[str]:
    used = [i for i, _ in enumerate(PARTS) if any(row.parts[i] for row in block.rows)]
    longest = max(row.total for row in block.rows) or 1
    yield '<div class="scroll"><table class="budget"><thead><tr><th scope="col">step</th><th scope="col" class="n">'
    yield 'total</th><th scope="col">budget</th>'
    yield "".join(f'<th scope="col" class="n"><span class="key p{i}"></span>{PARTS[i][1]}</th>' for i in used)
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
    words = ", ".join(f"{name} {duration(part)}" for (_, name), part in zip(PARTS, row.parts, strict=True) if part)
    parts: list[str] = []
    at = 0
    for i, part in enumerate(row.parts):
        left, right = _WIDTH * at // longest, _WIDTH * (at + part) // longest
        at += part
        if part:
            name = PARTS[i][1]
            parts.append(
                f'<rect class="p{i}" x="{left}" y="0" width="{max(1, right - left)}" height="16">'
                f"<title>{name} {duration(part)}</title></rect>"
            )
    return (
        f'<svg class="bar" viewBox="0 0 {_WIDTH} 16" preserveAspectRatio="none" role="img" aria-label="{words}">'
        + "".join(parts)
        + "</svg>"
    )


def _grid(grid: Grid) -> Iterator[str]:
    yield '<div class="scroll"><table>'
    if grid.caption:
        yield f"<caption>{escape(grid.caption)}</caption>"
    yield "<thead><tr>"
    for heading in grid.headings:
        kind = ' class="n"' if heading.number else ""
        yield "<td></td>" if heading.bar else f'<th scope="col"{kind}>{escape(heading.text)}</th>'
    yield "</tr></thead><tbody>\n"
    for row in grid.rows:
        yield "<tr>" + "".join(_cell(heading.bar, heading.number, row[i]) for i, heading in enumerate(grid.headings))
        yield "</tr>\n"
    yield "</tbody></table></div>\n"
    if grid.hidden:
        yield f'<p class="aside">{grid.hidden:,} more in the table {escape(grid.table)} below</p>\n'


def _cell(bar: bool, number: bool, value: str | float) -> str:
    if bar:
        if not isinstance(value, float):
            return "<td></td>"
        width = round(100 * min(1.0, max(0.0, value)), 1)
        return (
            '<td><svg class="share" viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">'
            f'<rect x="0" y="0" width="{width}" height="10"></rect></svg></td>'
        )
    written = str(value)
    inner = ' class="inner"' if written.startswith("  ") else ' class="n"' if number else ""
    return f"<td{inner}>{escape(written.strip())}</td>"
