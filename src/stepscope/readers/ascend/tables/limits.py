"""How large sums of the profiler can be: sums and differences of those that are kept fit 64 bits, as ns and bytes."""

from __future__ import annotations

import math
from typing import Any, Final

from stepscope.store.staging import Staging

#: By what a sum is named, the first that fits: 10^16 ns are 115 days, and times of day in µs end in the year 2096.
#: Steps are in µs, though their names do not say so.
_IMPOSSIBLE: Final = """
value IS NULL OR NOT abs(value) < CASE WHEN contains(metric, 'Timestamp') THEN 4e15
    WHEN contains(metric, '(ns)') THEN 1e16
    WHEN source = 'steps' OR contains(metric, '(us)') OR contains(metric, '(KB)') THEN 1e13
    WHEN contains(metric, '(ms)') OR contains(metric, '(MB)') THEN 1e10 ELSE 1e15 END
"""


def real(value: Any) -> float:
    """A value that should be a number, as one; NaN for any other, which `drop_impossible` counts."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return math.nan
    try:
        return float(value)
    except OverflowError:
        return math.inf


def drop_impossible(staging: Staging) -> None:
    """Take out of `recorded`, and count, what is no number or larger than any recording has."""
    [wrong] = staging.one(f"SELECT count(*) FROM recorded WHERE {_IMPOSSIBLE}")
    if wrong:
        staging.connection.execute(f"DELETE FROM recorded WHERE {_IMPOSSIBLE}")
    staging.observe(
        "values-unreadable", "warning", wrong, "sums of the profiler are no numbers, or too large to be right",
        "they count as not recorded; the files that list them may be damaged",
    )  # fmt: skip
