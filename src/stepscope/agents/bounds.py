"""Answers of a bounded size: pages of rows, short values, and what to call for the rest."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Final

from stepscope.language import said
from stepscope.model.errors import UserError
from stepscope.reports.text import cut, visible

#: Characters of an answer; some 6,000 tokens.
MOST: Final = 24_000
#: Characters of a value in it.
_VALUE: Final = 400
#: Rows that may be asked for at a time.
MOST_ROWS: Final = 200


def page(columns: Sequence[dict[str, str]], rows: Sequence[Sequence[Any]], limit: int, offset: int, call: str) -> Any:
    """Some rows of a table, as many as an answer holds.

    Args:
        columns: Name and unit of each column.
        rows: All rows.
        limit: Rows asked for.
        offset: Rows before them.
        call: What to call for the next ones, with `{offset}` where they begin.

    Raises:
        UserError: The limit or the offset is none.
    """
    if not 1 <= limit <= MOST_ROWS or offset < 0:
        raise UserError(
            said("limit is 1 to {most_rows} and offset 0 or more", most_rows=MOST_ROWS), hint=call.format(offset=0)
        )
    shown: list[list[Any]] = []
    room = MOST - 2000 - len(json.dumps(columns))
    for row in rows[offset : offset + limit]:
        shown.append([short(value) for value in row])
        room -= len(json.dumps(shown[-1], ensure_ascii=False, default=str))
        if room < 0 and len(shown) > 1:
            shown.pop()
            break
    end = offset + len(shown)
    more = {"next": call.format(offset=end)} if end < len(rows) else {}
    return {"columns": columns, "rows": shown, "from": offset, "of": len(rows), **more}


def short(value: Any) -> Any:
    """A value that fits: long texts are cut, long lists become their beginning."""
    if isinstance(value, str):
        return cut(visible(value), _VALUE)
    if isinstance(value, (list, tuple)) and len(str(value)) > _VALUE:
        return cut(visible(str(list(value))), _VALUE)
    return value


def written(answer: Any) -> str:
    """An answer as JSON of at most `MOST` characters; what is cut says so."""
    text = json.dumps(answer, ensure_ascii=False, default=str, separators=(",", ":"))
    if len(text) <= MOST:
        return text
    return json.dumps(
        {"cut": "the answer was too long; ask for less", "begins": text[: MOST - 200]}, ensure_ascii=False
    )
