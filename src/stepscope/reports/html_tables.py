"""All tables of a report as HTML: collapsed, sortable and searchable, with a description of each column."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import Any, Final

from stepscope.model.amounts import plural
from stepscope.model.schema import Column
from stepscope.model.table import Table
from stepscope.reports.contents import Contents
from stepscope.reports.html_blocks import anchor, scrolled, table_anchor, text_class
from stepscope.reports.text import cut
from stepscope.reports.units import Scale, scale

#: Rows of a table beyond which a page gets too slow to be useful, and characters of a cell.
MOST_ROWS: Final = 1000
_LONGEST: Final = 400
#: The same of a table in a notebook.
_SHORT: Final = 80


def tables_html(report: Contents, title: str, most: int = MOST_ROWS) -> Iterator[str]:
    """A section with every table that was computed, at most `most` rows of each, those without rows last."""
    yield from listed_html({name: table for name, table in report.tables.items() if report.computed(name)}, title, most)


def listed_html(tables: Mapping[str, Table], title: str, most: int = MOST_ROWS) -> Iterator[str]:
    """A section with these tables, at most `most` rows of each, those without rows last."""
    computed = tables.items()
    full = [(name, table) for name, table in computed if len(table)]
    empty = [name for name, table in computed if not len(table)]
    yield f'<section id="{anchor(title)}"><h2>{escape(title)}</h2>\n'
    if full:
        yield '<p class="aside">Select a heading to sort by it.</p>\n'
    for name, table in full:
        yield from _table(name, table, most)
    if empty:
        yield f'<p class="aside">Without rows: {escape(", ".join(empty))}</p>\n'
    yield "</section>\n"


def _table(name: str, table: Table, most: int) -> Iterator[str]:
    rows = table.head(most).rows()
    columns = table.schema.columns
    scales = [scale(column, (row[i] for row in rows)) for i, column in enumerate(columns)]
    yield f'<details id="{table_anchor(name)}"><summary>{escape(name)} '
    yield f'<span class="aside">{plural(len(table), "row")}</span></summary>\n'
    yield f"<p>{escape(table.schema.description)}</p>\n"
    yield from _legend(columns)
    yield f'{scrolled(name)}<table class="sortable"><thead><tr>'
    for column, one in zip(columns, scales, strict=True):
        kind = ' class="n"' if _is_number(column) else ""
        yield f'<th scope="col"{kind}><button type="button">{escape(_heading(column, one))}</button></th>'
    yield "</tr></thead><tbody>\n"
    yield from _rows(rows, columns, scales)
    yield "</tbody></table></div>\n"
    if len(table) > len(rows):
        yield f'<p class="aside">{len(table) - len(rows):,} more rows are in the JSON report.</p>\n'
    yield "</details>\n"


def short_html(table: Table, most: int) -> Iterator[str]:
    """One table on its own: its name, at most `most` rows, and how many it has."""
    rows = table.head(most).rows()
    columns = table.schema.columns
    scales = [scale(column, (row[i] for row in rows)) for i, column in enumerate(columns)]
    yield f"{scrolled(table.schema.name)}<table><caption>{escape(table.schema.name)}, {plural(len(table), 'row')}"
    yield f"{f' of which {most} are shown' if len(table) > most else ''}</caption><thead><tr>"
    for column, one in zip(columns, scales, strict=True):
        kind = ' class="n"' if _is_number(column) else ""
        yield f'<th scope="col"{kind} title="{escape(column.description)}">{escape(_heading(column, one))}</th>'
    yield "</tr></thead><tbody>\n"
    yield from _rows(rows, columns, scales, _SHORT)
    yield "</tbody></table></div>\n"


def _heading(column: Column, one: Scale) -> str:
    return column.name.removesuffix("_ns") + (f" {one.label}" if one.label else "")


def _rows(
    rows: Sequence[Sequence[Any]], columns: Sequence[Column], scales: Sequence[Scale], longest: int = _LONGEST
) -> Iterator[str]:
    for row in rows:
        cells = zip(row, columns, scales, strict=True)
        yield "<tr>" + "".join(_cell(value, column, one, longest) for value, column, one in cells) + "</tr>\n"


def _legend(columns: Sequence[Column]) -> Iterator[str]:
    """What the columns mean."""
    yield '<details class="legend"><summary>Columns</summary><dl>'
    for column in columns:
        yield f"<dt>{escape(column.name)}</dt><dd>{escape(column.description)}</dd>"
    yield "</dl></details>\n"


def _is_number(column: Column) -> bool:
    return column.type not in ("string", "bool") and not column.type.endswith("[]")


def _cell(value: Any, column: Column, one: Scale, longest: int) -> str:
    written = cut(one.write(value), longest)
    if isinstance(value, (int, float)) and not isinstance(value, bool) and column.type != "string":
        return f'<td class="n" data-v="{value!r}">{escape(written)}</td>'
    kind = "n" if _is_number(column) else text_class(written)
    return f'<td class="{kind}">{escape(written)}</td>' if kind else f"<td>{escape(written)}</td>"
