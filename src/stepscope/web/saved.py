"""The page as one file: the same page with the answers of its server inside, to be opened from disk or mailed.

What the page would ask a server for is asked in this process and written into the document. Without a script it can be
read, too: the report's outline and tables are its content until the script replaces them.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
from collections.abc import Iterator
from html import escape
from typing import TYPE_CHECKING, Any, Final

from stepscope.reports import html
from stepscope.web.answering import answers_of
from stepscope.web.app import TOPICS
from stepscope.web.document import head, shown_table
from stepscope.web.routes.bundle import asset
from stepscope.web.viewing import Viewing

if TYPE_CHECKING:
    from stepscope.model.trace import Trace
    from stepscope.reports.report import Report

#: What a file may have, so that it can be mailed; rows of a table; and those shown without a script.
MOST_BYTES: Final = 10_000_000
_MOST_ROWS: Final = 2000
_PLAIN_ROWS: Final = 50
#: Answers that do not fit, after which no further one is asked for.
_MISSES: Final = 100
#: Room for what stands around the data.
_AROUND: Final = 100_000


def document(report: Report, trace: Trace, top: int = 10, most: int = MOST_BYTES) -> str:
    """A whole HTML document of at most `most` bytes.

    Args:
        report: What it shows.
        trace: Of what it is, still open.
        top: Rows of each small table, where it is read without a script.
        most: Bytes that it may have; what is largest and least asked for is left out beyond that.
    """
    plain = "".join(html.content(report, top, _PLAIN_ROWS))
    script, styles = asset("app.js").decode(), (html.style(), asset("app.css").decode())
    room = most - _AROUND - sum(len(text.encode()) for text in (plain, script, *styles))
    data = json.dumps(_collected(report, trace, room), separators=(",", ":")).replace("<", "\\u003c")
    policy = (
        f"default-src 'none'; style-src {' '.join(map(_hash, styles))}; script-src {_hash(script)}; "
        "img-src data: blob:; base-uri 'none'; form-action 'none'"
    )
    return "".join(
        (
            '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n',
            f'<meta http-equiv="Content-Security-Policy" content="{escape(policy)}">\n',
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n',
            '<meta name="referrer" content="no-referrer">\n',
            f"<title>{escape(html.title(report))} · stepscope</title>\n",
            *(f"<style>{style}</style>\n" for style in styles),
            f'</head>\n<body>\n<div id="page">{plain}</div>\n',
            f'<script type="application/json" id="stepscope-data">{data}</script>\n',
            f"<script>{script}</script>\n</body>\n</html>\n",
        )
    )


def _collected(report: Report, trace: Trace, room: int) -> dict[str, Any]:
    """Answers by address, as many as fit; the report itself is always there."""
    found: dict[str, Any] = {"api/report": head(report)}
    room -= len(json.dumps(found["api/report"]))
    missed = 0
    for address, answer, size in _answers(report, trace):
        if size <= room:
            found[address] = answer
            room -= size
        elif (missed := missed + 1) == _MISSES:
            break
    return found


def _answers(report: Report, trace: Trace) -> Iterator[tuple[str, Any, int]]:
    """What else can be asked, the most important first, with its size in the document."""
    for name, table in report.tables.items():
        if len(table):
            answer = shown_table(report, name, _MOST_ROWS)
            yield f"api/tables/{name}", answer, len(json.dumps(answer))
    viewing = Viewing.made(trace, report)
    addresses = [address for topic in TOPICS for address in getattr(topic, "saved", _none)(viewing)]
    for address, body, media_type in answers_of(viewing, addresses):
        if media_type == "application/json":
            yield address, json.loads(body), len(body)
        else:
            packed = base64.b64encode(gzip.compress(body, 6, mtime=0)).decode()
            yield address, {"gzip": packed}, len(packed) + len(address)


def _none(_: Viewing) -> Iterator[str]:
    yield from ()


def _hash(content: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()}'"
