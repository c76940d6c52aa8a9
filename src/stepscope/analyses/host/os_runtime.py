"""Host time in calls of the operating system's libraries: files, locks, waiting for events, threads."""

from __future__ import annotations

from stepscope.analyses.registry import Analysis
from stepscope.analyses.shared.grouping import SHARE_SQL, SUMMARY_SQL, by_name
from stepscope.model.errors import MissingInputError
from stepscope.model.schema import TableSchema, count, summary_columns
from stepscope.model.table import Table
from stepscope.model.tables import RANK
from stepscope.model.trace import Trace

OS_RUNTIME = TableSchema(
    "os_runtime",
    "One row per call of the operating system's libraries, over all threads; most of it is waiting. Profilers leave "
    "out calls below a threshold (1 µs in Nsight Systems).",
    (*summary_columns("call", "the durations of all such calls"), RANK, count("threads", "On how many threads.")),
)

#: Such calls tell so in their arguments, since they share their category with other things.
_SQL = f"""
SELECT *, {SHARE_SQL} FROM (
    SELECT name, count(DISTINCT track) AS threads, {SUMMARY_SQL} FROM (
        SELECT name, track, coalesce(dur, 0) AS dur FROM events
        WHERE category = 'other' AND json_extract_string(args, '$.api') = 'os_runtime'
    ) GROUP BY name
) ORDER BY total_ns DESC, name
"""


def os_runtime(trace: Trace) -> Table:
    """Sum up calls of the operating system by name.

    Raises:
        MissingInputError: The recording has none.
    """
    table = by_name(trace, OS_RUNTIME, _SQL)
    if not len(table):
        raise MissingInputError.of("os_calls")
    return table


ANALYSES = (Analysis(OS_RUNTIME, os_runtime),)
