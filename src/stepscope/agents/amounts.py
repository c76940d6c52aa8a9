"""Times in two forms: exact, and in words for the sentence that an agent will write."""

from __future__ import annotations

from typing import Any

from stepscope.model.amounts import duration, percent


def time_of(ns: int | None, share: float | None = None) -> dict[str, Any] | None:
    """A time with its words, and what share of the typical step it is."""
    if ns is None:
        return None
    words = duration(ns) + (f", {percent(share)} of the step" if share is not None else "")
    return {"ns": ns, "words": words}
