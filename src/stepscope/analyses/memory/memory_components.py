"""Memory by the component that holds it, where a profiler samples each of them."""

from __future__ import annotations

from typing import Final

from stepscope.analyses.registry import Analysis
from stepscope.model.errors import MissingInputError
from stepscope.model.schema import TableSchema, ns, size, text
from stepscope.model.table import Table
from stepscope.model.tables import RANK
from stepscope.model.trace import Trace

MEMORY_COMPONENTS: Final = TableSchema(
    "memory_components",
    "One row per component whose memory was sampled (the framework's allocator, the graph engine, the process, the "
    "communication library, modules of the driver) and kind of total, the largest peak first. Components overlap: the "
    "process holds what its allocators reserved.",
    (
        RANK,
        text("name", "The component, as recorded."),
        text("total", "allocated, reserved or active."),
        size("peak_bytes", "Most at a time."),
        ns("peak_ts", "When that was first reached."),
        size("first_bytes", "At the first sample."),
        size("last_bytes", "At the last sample."),
    ),
)

#: Series are called `PTA+GE allocated`, or `module HCCL reserved`.
_SQL: Final = """
SELECT regexp_replace(regexp_extract(c.name, '^(.*) (allocated|reserved|active)$', 1), '^module ', '') AS name,
    regexp_extract(c.name, '(allocated|reserved|active)$', 1) AS total, max(value)::BIGINT AS peak_bytes,
    min(ts) FILTER (WHERE value = m.most) AS peak_ts, arg_min(value, ts)::BIGINT AS first_bytes,
    arg_max(value, ts)::BIGINT AS last_bytes
FROM counters c JOIN tracks t USING (track)
JOIN (SELECT track, name, max(value) AS most FROM counters GROUP BY 1, 2) m ON m.track = c.track AND m.name = c.name
WHERE t.process IN ('memory', 'module memory') AND regexp_matches(c.name, ' (allocated|reserved|active)$')
GROUP BY c.name, c.track ORDER BY peak_bytes DESC, name, total
"""


def memory_components(trace: Trace) -> Table:
    """List the components with the peaks of their totals.

    Raises:
        MissingInputError: The recording has no such samples.
    """
    rows = trace.rows(_SQL)
    if not rows:
        raise MissingInputError.of("allocations")
    return Table.from_rows(MEMORY_COMPONENTS, [(trace.ranks[0], *row.values()) for row in rows])


ANALYSES = (Analysis(MEMORY_COMPONENTS, memory_components),)
