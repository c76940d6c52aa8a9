"""Host time in calls of the device runtime and driver."""

from __future__ import annotations

from stepscope.analyses.registry import Analysis
from stepscope.analyses.shared.grouping import SHARE_SQL, SUMMARY_SQL, by_name
from stepscope.analyses.shared.needs import need_calls
from stepscope.model.schema import TableSchema, count, summary_columns, text
from stepscope.model.table import Table
from stepscope.model.tables import RANK
from stepscope.model.trace import Trace

API_CALLS = TableSchema(
    "api_calls",
    "One row per call of the device runtime or driver, over all threads; a call made inside another has its own row.",
    (
        *summary_columns("call", "the durations of all calls"),
        RANK,
        text("category", "launch (puts work on a device), sync (waits for or asks about it) or runtime (all else)."),
        count("threads", "On how many threads it was called."),
    ),
)

_SQL = f"""
SELECT *, {SHARE_SQL} FROM (
    SELECT n.name, category, count(DISTINCT track) AS threads, {SUMMARY_SQL} FROM (
        SELECT s.name_id, s.category, s.track, coalesce(s.dur, 0) AS dur FROM spans s JOIN tracks t USING (track)
        WHERE t.kind = 'host' AND s.category IN ('runtime', 'launch', 'sync')
    ) JOIN names n USING (name_id) GROUP BY n.name, category
) ORDER BY total_ns DESC, name, category
"""


def api_calls(trace: Trace) -> Table:
    """Sum up runtime and driver calls by name.

    Raises:
        MissingInputError: The recording has none.
    """
    need_calls(trace)
    return by_name(trace, API_CALLS, _SQL)


ANALYSES = (Analysis(API_CALLS, api_calls),)
