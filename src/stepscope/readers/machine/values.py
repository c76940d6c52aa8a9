"""Take values out of untrusted samples."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, Final

from stepscope.readers.untrusted import short_text

#: Counters are smaller: ns of a thousand threads in a thousand years.
_LARGEST: Final = 1e19
_MOST: Final = 4096


def number(value: Any) -> float | None:
    """A number that a counter can have; None for other values."""
    if type(value) not in (int, float) or not 0 <= value < _LARGEST:
        return None
    found = float(value)
    return found if math.isfinite(found) else None


def entries(value: Any) -> Iterator[tuple[str, Any]]:
    """Names and values of a dictionary, the first thousands; nothing for other values."""
    for name, one in list(value.items())[:_MOST] if isinstance(value, dict) else ():
        if short := short_text(name):
            yield short, one


def numbers(value: Any, count: int) -> list[float] | None:
    """So many numbers; None for anything else."""
    if not isinstance(value, list) or len(value) != count:
        return None
    found = [number(one) for one in value]
    return [one for one in found if one is not None] if None not in found else None


def increases(before: Any, now: Any, count: int) -> Iterator[tuple[str, list[float]]]:
    """By how much counters of the same name grew; those that fell were set back, and are left out."""
    known = dict(entries(before))
    for name, values in entries(now):
        one, other = numbers(known.get(name), count), numbers(values, count)
        if one is not None and other is not None:
            grown = [new - old for new, old in zip(other, one, strict=True)]
            if min(grown) >= 0:
                yield name, grown


def increase(before: Any, now: Any, name: str) -> float | None:
    """By how much one counter grew; None if it fell or is not there."""
    if not (isinstance(before, dict) and isinstance(now, dict)):
        return None
    one, other = number(before.get(name)), number(now.get(name))
    return None if one is None or other is None or other < one else other - one
