"""Take texts and rows out of files that may hold anything."""

from __future__ import annotations

from typing import Any


def short_text(value: Any, longest: int = 200) -> str | None:
    """A non-empty string, truncated and without invalid characters; None for other values."""
    return value[:longest].encode("utf-8", "replace").decode("utf-8") if isinstance(value, str) and value else None


def rows_of(value: Any) -> list[dict[str, Any]]:
    """The dictionaries in a list; empty for other values."""
    return [row for row in value if isinstance(row, dict)] if isinstance(value, list) else []


def quoted_name(name: str) -> str:
    """A name of a table or column as SQL writes it."""
    return '"' + name.replace('"', '""') + '"'
