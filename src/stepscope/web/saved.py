"""The page as one file: the same page with the answers of its server inside, to be opened from disk or mailed.

What the page would ask a server for is asked in this process and written into the document. Without a script it can be
read, too: the report's outline and tables are its content until the script replaces them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from stepscope.reports import html
from stepscope.web.app import TOPICS
from stepscope.web.document import head, shown_table
from stepscope.web.enclosed import MOST_BYTES, Answer, enclosing, fitting, packed
from stepscope.web.viewing import Viewing

if TYPE_CHECKING:
    from stepscope.model.trace import Trace
    from stepscope.reports.report import Report

#: Rows of a table, and those shown without a script.
_MOST_ROWS: Final = 2000
_PLAIN_ROWS: Final = 50


def document(report: Report, trace: Trace, top: int = 10, most: int = MOST_BYTES) -> str:
    """A whole HTML document of at most `most` bytes.

    Args:
        report: What it shows.
        trace: Of what it is, still open.
        top: Rows of each small table, where it is read without a script.
        most: Bytes that it may have; what is largest and least asked for is left out beyond that.
    """
    plain = "".join(html.content(report, top, _PLAIN_ROWS))
    return enclosing(html.title(report), plain, lambda room: fitting(head(report), _answers(report, trace), room), most)


def _answers(report: Report, trace: Trace) -> Iterator[Answer]:
    """What else can be asked, the most important first."""
    for name, table in report.tables.items():
        if len(table):
            answer = shown_table(report, name, _MOST_ROWS)
            yield f"api/tables/{name}", answer, len(json.dumps(answer))
    viewing = Viewing.made(trace, report)
    yield from packed(viewing, [one for topic in TOPICS for one in getattr(topic, "saved", _none)(viewing)])


def _none(_: Viewing) -> Iterator[str]:
    yield from ()
