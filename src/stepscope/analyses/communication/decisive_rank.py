"""Which rank of a job decides how long its steps take."""

from __future__ import annotations

from typing import Final

from stepscope.model.trace import Trace

_WAITING_SQL: Final = (
    "SELECT rank, sum(dur) FILTER (WHERE kind = 'comm')::BIGINT AS comm FROM kernels GROUP BY 1 ORDER BY 1"
)


def decisive_rank(trace: Trace) -> int:
    """The rank that spends the least time in collectives: others wait for it, so its steps bound theirs."""
    rows = trace.columns(f"SELECT rank, coalesce(comm, 0) AS comm FROM ({_WAITING_SQL})")
    if not rows["rank"].size:
        return trace.ranks[0]
    return int(rows["rank"][rows["comm"].argmin()])
