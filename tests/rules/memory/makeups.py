"""Parts of a peak, for tests of rules about memory."""

from __future__ import annotations

from stepscope.signals.snapshots.peak_makeup import Holder, Makeup
from stepscope.signals.snapshots.peak_parts import PeakPart

MIB, GIB = 1 << 20, 1 << 30
LINE = "/home/me/proj/model.py(41): forward"


def part(size: int, peak: int, without: int | None = None, count: int = 24) -> PeakPart:
    """A part of a peak, all from one line."""
    lines = (Holder(LINE, size, count, size // count),)
    return PeakPart(size, count, lines, peak, peak - size if without is None else without)


def makeup(**purposes: int) -> Makeup:
    """A peak of some purposes, all from one line."""
    used = sum(purposes.values())
    held = tuple(Holder(name.replace("_", " "), size, 1, size) for name, size in purposes.items())
    return Makeup(0, 0, used, used, held, (Holder(LINE, used, 1, used),))
