"""A comparison as the text of a file."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from stepscope.comparison.result import Comparison


def json_text(comparison: Comparison, top: int = 10, levels: Sequence[str] = ()) -> str:
    """Everything, as JSON in ASCII, so that no terminal can be fooled; what a page shows of it does not matter."""
    del top, levels
    return json.dumps(comparison.to_dict(), allow_nan=False, default=str, indent=1) + "\n"


def markdown_text(comparison: Comparison, top: int = 10, levels: Sequence[str] = ()) -> str:
    """The page as Markdown."""
    from stepscope.reports import markdown
    from stepscope.reports.compared.outline import outline

    return markdown.page_text(outline(comparison, top, levels))


TEXTS: Final[Mapping[str, Callable[[Comparison, int, Sequence[str]], str]]] = {
    "json": json_text,
    "markdown": markdown_text,
}
