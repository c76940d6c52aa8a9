"""A sweep as the text of a file."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Mapping
from typing import Final

from stepscope.comparison.sweep.result import Sweep
from stepscope.reports import html, markdown
from stepscope.reports.html_tables import listed_html
from stepscope.reports.swept.page import outline
from stepscope.reports.text import visible


def json_text(sweep: Sweep) -> str:
    """Everything, as JSON in ASCII, with its series ready to be plotted."""
    return json.dumps(sweep.to_dict(), allow_nan=False, indent=1) + "\n"


def markdown_text(sweep: Sweep) -> str:
    """The page as Markdown."""
    return markdown.page_text(outline(sweep))


def html_text(sweep: Sweep) -> str:
    """The page with both tables, as one HTML file that works offline."""
    return html.document(outline(sweep), listed_html(sweep.tables, "All tables"))


def csv_text(sweep: Sweep) -> str:
    """Table `sweep`, exact, a line per recording."""
    table, out = sweep.table("sweep"), io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(table.schema.names)
    writer.writerows([visible(cell) if isinstance(cell, str) else cell for cell in row] for row in table.rows())
    return out.getvalue()


TEXTS: Final[Mapping[str, Callable[[Sweep], str]]] = {
    "json": json_text, "markdown": markdown_text, "html": html_text, "csv": csv_text,
}  # fmt: skip
