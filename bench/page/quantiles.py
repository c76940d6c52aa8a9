"""How spread out times are."""

from __future__ import annotations

import statistics
from collections.abc import Sequence


def quantiles(values: Sequence[float]) -> str:
    """The median and the 95th percentile of times in ms; there are two or more."""
    cuts = statistics.quantiles(values, n=20)
    return f"{statistics.median(values):.1f} ms, {cuts[18]:.1f} ms"
