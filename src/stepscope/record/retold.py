"""What processes of a job have said, outside of them: as texts that other languages have."""

from __future__ import annotations

from stepscope.language import brought, recalled
from stepscope.record.noted import Noted, as_json


def retold(text: str) -> str:
    """A process's text as it can be told; one without its pattern by the one that it fits."""
    return brought(as_json(text)) if isinstance(text, Noted) else recalled(text)
