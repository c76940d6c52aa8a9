"""What health says where one recording is of a job of several ranks, and names neither its rank nor their number."""

from __future__ import annotations

from typing import Final

from stepscope.model.trace import Trace
from stepscope.reports.health import HealthLine

#: Calls of collectives, where they have no row: the oldest profilers record neither their sizes nor what ran of them.
_CALLS_SQL: Final = """
SELECT count(*) FROM spans JOIN names USING (name_id)
WHERE category = 'op' AND (name = 'record_param_comms' OR starts_with(name, 'c10d::'))
"""
#: A collective of one rank alone says that there is one.
_SIZES_SQL: Final = "SELECT count(*) AS number, max(world_size) AS size FROM collectives"


def lone_lines(trace: Trace) -> list[HealthLine]:
    """Say that rank and number of ranks are unknown where collectives are called and one recording is given."""
    recordings = list(trace.recordings.values())
    if len(recordings) != 1 or recordings[0].rank is not None or recordings[0].world_size is not None:
        return []
    [row] = trace.rows(_SIZES_SQL)
    if row["size"] == 1 or not (row["number"] or trace.scalar(_CALLS_SQL)):
        return []
    return [
        HealthLine(
            "ranks-unknown", "info",
            "the rank is not recorded, and neither is the number of ranks, though collectives are called",
            "it is called rank 0; give the recordings of all ranks, with rank numbers in their names",
        )
    ]  # fmt: skip
