"""Why a recording was made, as `stepscope record` writes it beside the events."""

from __future__ import annotations

from typing import Any, Final

#: What it says of a recording: `trigger`, why it was made, where that was not settled before the start.
ABOUT: Final = "stepscope"
_LONGEST: Final = 500


def told(metadata: dict[str, Any]) -> dict[str, str | int | float | bool]:
    """Attributes of a recording: why it was made, as `trigger`, if its metadata says so."""
    about = metadata.get(ABOUT)
    trigger = about.get("trigger") if isinstance(about, dict) else None
    return {"trigger": trigger[:_LONGEST]} if isinstance(trigger, str) and trigger else {}
