"""How rules about waiting say where."""

from __future__ import annotations

from collections.abc import Iterable

from stepscope.signals.host.synchronisation import Place


def where(places: Iterable[Place]) -> str:
    """The two places with the longest waits, as an insertion: ` (in a.py(3): f and in b.py(9): g)`."""
    texts = list(dict.fromkeys(place.text for place in places))[:2]
    return f" (in {' and in '.join(texts)})" if texts else ""
