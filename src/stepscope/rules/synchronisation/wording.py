"""How rules about waiting say how often, and where."""

from __future__ import annotations

from collections.abc import Iterable

from stepscope.signals.synchronisation import Place


def often(rate: float) -> str:
    """Times per step: `once per step`, `9 times per step`, `once in 2 steps`, followed by nothing."""
    if rate < 0.75:
        return f"once in {round(1 / rate)} steps" if rate > 0 else "never"
    number = round(rate)
    return "once per step" if number == 1 else f"{number:,} times per step"


def where(places: Iterable[Place]) -> str:
    """The two places with the longest waits, as an insertion: ` (in a.py(3): f and in b.py(9): g)`."""
    texts = list(dict.fromkeys(place.text for place in places))[:2]
    return f" (in {' and in '.join(texts)})" if texts else ""
