"""Read a rank without events and steps, but with memory or sums of operators, calls and links."""

from __future__ import annotations

from typing import Final

from stepscope.store.staging import Staging

#: Time range of the rank's memory records.
_TIMES: Final = """
SELECT min(ts), max(ts) FROM (
    SELECT ts FROM ascend_counters UNION ALL SELECT taken FROM ascend_blocks UNION ALL
    SELECT given_back FROM ascend_blocks
) WHERE ts IS NOT NULL
"""
#: Time used if no time of day is recorded.
_SOME_DAY: Final = 10**18
_WINDOW: Final = "INSERT INTO ascend_host BY NAME SELECT 0 AS i, ? AS ts, ? AS dur, 'profiler' AS process, " \
                 "'recording' AS thread, 'recording' AS name, 'other' AS category"  # fmt: skip


def take_rest(staging: Staging) -> bool:
    """Add one event over the time range of all records; returns whether there are any."""
    first, last = staging.one(_TIMES)
    is_recorded = staging.one("SELECT count(*) FROM recorded") != (0,)
    if first is None and not is_recorded:
        return False
    staging.connection.execute(_WINDOW, [_SOME_DAY if first is None else first, 0 if first is None else last - first])
    staging.observe(
        "memory-only" if first is not None else "totals-only", "warning", 1,
        "only records of memory are at hand, no events" if first is not None
        else "only totals of operators, calls or links are at hand, no events and no times",
        "steps, kernels, collectives and idle time are unknown; give the whole result folder",
    )  # fmt: skip
    return True
