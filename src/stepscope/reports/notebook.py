"""What tables, findings, comparisons and open traces look like in a notebook: short, and without a script."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Final

from stepscope.model.recording import Recording

#: Rows of a table that are shown.
_ROWS: Final = 20


def html_of(value: object) -> str | None:
    """The HTML of a `Table`, a `Finding` or a `Comparison`; None for anything else."""
    from stepscope.comparison.result import Comparison
    from stepscope.model.table import Table
    from stepscope.reports.compared.outline import outline
    from stepscope.reports.html import framed, outline_fragment
    from stepscope.reports.html_blocks import item_html
    from stepscope.reports.html_tables import short_html
    from stepscope.reports.sections.findings import item_of
    from stepscope.rules.finding import Finding

    if isinstance(value, Table):
        return framed(short_html(value, _ROWS))
    if isinstance(value, Finding):
        return framed(item_html(item_of(value)))
    if isinstance(value, Comparison):
        return outline_fragment(outline(value))
    return None


def trace_html(recordings: Mapping[int, Recording], steps: Mapping[int, int]) -> str:
    """The recordings of an open trace, with their events and the number of steps of each rank."""
    from stepscope.reports.html import framed
    from stepscope.reports.text import visible

    shown = list(recordings.items())[:_ROWS]
    rows = [(rank, visible(one.source), f"{one.events:,}", f"{steps.get(rank, 0):,}") for rank, one in shown]
    body = "".join(
        f'<tr><th scope="row" class="n">{rank}</th><td>{escape(source)}</td><td class="n">{events}</td>'
        f'<td class="n">{count}</td></tr>'
        for rank, source, events, count in rows
    )
    head = (
        '<tr><th scope="col" class="n">rank</th><th scope="col">recording</th><th scope="col" class="n">events</th>'
        '<th scope="col" class="n">steps</th></tr>'
    )
    left = len(recordings) - len(shown)
    more = f'<p class="aside">{left:,} more ranks</p>' if left else ""
    return framed((f"<table><thead>{head}</thead><tbody>{body}</tbody></table>{more}",))
