"""Percentages in messages."""

from __future__ import annotations


def share(part: int, whole: int) -> str:
    """A percentage, such as `12 %` or `under 1 %`."""
    percent = round(100 * part / whole) if whole else 0
    return f"{percent} %" if percent or not part else "under 1 %"
