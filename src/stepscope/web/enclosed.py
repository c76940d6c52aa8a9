"""A document with the page and its answers inside, which asks for nothing else."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
from collections.abc import Callable, Iterable
from html import escape
from typing import Any, Final

from stepscope.language import spoken
from stepscope.reports import html
from stepscope.web.answering import answers_of
from stepscope.web.routes.bundle import CATALOGUES, TAGS, asset
from stepscope.web.speaking import in_words
from stepscope.web.viewing import Viewing

#: What a file may have, so that it can be mailed.
MOST_BYTES: Final = 10_000_000
#: Room for what stands around the data.
_AROUND: Final = 100_000
#: Answers that do not fit, after which no further one is asked for.
_MISSES: Final = 100
#: An address, what is answered there, and its size in the document.
Answer = tuple[str, Any, int]


def enclosing(title: str, plain: str, collect: Callable[[int], dict[str, Any]], most: int = MOST_BYTES) -> str:
    """A whole HTML document of at most `most` bytes, in the language that is spoken.

    Args:
        title: Of the document.
        plain: What is read without a script, as HTML; the script replaces it.
        collect: Answers by address that fit into so many bytes.
        most: Bytes that it may have.
    """
    language, styles = spoken(), (html.style(), asset("app.css").decode())
    names = [CATALOGUES[language]] if language in CATALOGUES else []
    scripts = [asset(name).decode() for name in (*names, "app.js")]
    room = most - _AROUND - sum(len(text.encode()) for text in (plain, *scripts, *styles))
    data = json.dumps(in_words(collect(room)), separators=(",", ":")).replace("<", "\\u003c")
    policy = (
        f"default-src 'none'; style-src {' '.join(map(_hash, styles))}; script-src {' '.join(map(_hash, scripts))}; "
        "img-src data: blob:; base-uri 'none'; form-action 'none'"
    )
    return "".join(
        (
            f'<!doctype html>\n<html lang="{TAGS[language]}">\n<head>\n<meta charset="utf-8">\n',
            f'<meta http-equiv="Content-Security-Policy" content="{escape(policy)}">\n',
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n',
            '<meta name="referrer" content="no-referrer">\n',
            f"<title>{escape(title)} · stepscope</title>\n",
            *(f"<style>{style}</style>\n" for style in styles),
            f'</head>\n<body>\n<div id="page">{plain}</div>\n',
            f'<script type="application/json" id="stepscope-data">{data}</script>\n',
            *(f"<script>{script}</script>\n" for script in scripts),
            "</body>\n</html>\n",
        )
    )


def fitting(report: dict[str, Any], answers: Iterable[Answer], room: int) -> dict[str, Any]:
    """Answers by address, as many as fit; the report itself is always there."""
    found: dict[str, Any] = {"api/report": report}
    room -= len(json.dumps(report))
    missed = 0
    for address, answer, size in answers:
        if size <= room:
            found[address] = answer
            room -= size
        elif (missed := missed + 1) == _MISSES:
            break
    return found


def packed(viewing: Viewing, addresses: Iterable[str], prefix: str = "") -> Iterable[Answer]:
    """What the application answers at each address, as the page unpacks it; `prefix` stands before the address."""
    for address, body, media_type in answers_of(viewing, addresses):
        if media_type == "application/json":
            yield prefix + address, json.loads(body), len(body)
        else:
            text = base64.b64encode(gzip.compress(body, 6, mtime=0)).decode()
            yield prefix + address, {"gzip": text}, len(text) + len(address)


def _hash(content: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()}'"
