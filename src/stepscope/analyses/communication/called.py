"""The calls of collectives of one rank or of several, as they are matched."""

from __future__ import annotations

from typing import Final

from stepscope.analyses.communication.matching import STEP_KEYS, Calls
from stepscope.model.runtime_names import COLLECTIVE_ON_HOST
from stepscope.model.trace import Trace

#: Calls of collectives, of one rank or of several; those without a sequence number are numbered negatively, by their
#: order among those of one kind: in each step with a recorded number, since ranks may be recorded at different steps.
_CALLS_SQL: Final = f"""
SELECT c.rank, c.event, coalesce(k.device, -1)::INTEGER AS device, c."group", c.collective,
    coalesce(c.bytes, -1) AS bytes, k.dur, k.held, k.ts + k.dur AS stop, coalesce(k.step, -1) AS step,
    coalesce((c.rank, k.step) IN (SELECT (rank, step) FROM steps WHERE typical), false) AS typical, coalesce(c.seq,
        -row_number() OVER (PARTITION BY c.rank, k.device, c."group", c.collective, s.step ORDER BY k.ts, c.event)
        - coalesce(s.step + 1, 0) * {STEP_KEYS}) AS key
FROM collectives c JOIN ({{work}}) k ON k.rank = c.rank AND k.event = c.event
LEFT JOIN (SELECT rank, step::BIGINT AS step FROM steps WHERE number IS NOT NULL) s
    ON s.rank = c.rank AND s.step = k.step
WHERE c.collective NOT IN ('send', 'recv', 'send_recv') ORDER BY c.rank, c.event
"""
_WORK_SQL: Final = "SELECT rank, event, device, ts, dur, step, dur AS held FROM kernels"
#: Collectives that are known by the profiler's sums only are no device activities.
_SUMMED_CALLS: Final = "FROM collectives ANTI JOIN kernels USING (rank, event) WHERE transfer_ns IS NOT NULL"
_SUMMED_WORK_SQL: Final = f"""
{_WORK_SQL} UNION ALL
SELECT e.rank, e.id, NULL, e.ts, coalesce(e.dur, 0), e.step, coalesce(e.dur, 0) FROM events e
JOIN (SELECT rank, event {_SUMMED_CALLS}) c ON c.rank = e.rank AND c.event = e.id
"""
#: Operators that hand work to a library that communicates, or wait for it.
OF_LIBRARY: Final = r"^(c10d|_?c10d_functional)::|^record_param_comms$"
#: Libraries that communicate on the host (gloo, MPI) carry out each on a thread of their own, from where the rank comes
#: to it until it has the result.
_OPS_SQL: Final = "SELECT rank, ts FROM events WHERE category = 'op'"
_HOST_CALLS: Final = "FROM collectives c WHERE c.rank NOT IN (SELECT rank FROM kernels WHERE kind = 'comm')"
#: Where the rank begins another one before the end of one, it does not stand still until its next operator.
_HOST_WORK_SQL: Final = f"""
SELECT h.rank, h.event, NULL AS device, h.ts, h.dur, h.step, greatest(h.dur, coalesce(
    CASE WHEN p.ts < h.ts + h.dur THEN o.ts ELSE least(o.ts, p.ts) END - h.ts, 0)) AS held
FROM (
    SELECT e.rank, e.id AS event, e.ts, coalesce(e.dur, 0) AS dur, e.step
    FROM (SELECT c.rank, c.event {_HOST_CALLS} AND c.transfer_ns IS NULL) c
    JOIN events e ON e.rank = c.rank AND e.id = c.event JOIN tracks t ON t.rank = e.rank AND t.track = e.track
    WHERE t.kind = 'host' AND regexp_matches(e.name, '{COLLECTIVE_ON_HOST}')
) h
ASOF LEFT JOIN ({_OPS_SQL} AND NOT regexp_matches(name, '{OF_LIBRARY}')) o ON o.rank = h.rank AND o.ts > h.ts
ASOF LEFT JOIN ({_OPS_SQL} AND regexp_matches(name, '{OF_LIBRARY}')) p ON p.rank = h.rank AND p.ts > h.ts
"""


def calls_of(trace: Trace) -> Calls:
    """Calls of collectives by rank and event.

    Columns are rank, event, device, group, collective, bytes, dur, held, stop, typical and key. `held` is dur or, on
    the host, the time until the rank's next operator, if that is longer: what it does of itself meanwhile is no
    waiting. `stop` is their end, and `typical` whether they lie in a typical step.
    """
    works = [_SUMMED_WORK_SQL if trace.scalar(f"SELECT count(*) {_SUMMED_CALLS}") else _WORK_SQL]
    if trace.scalar(f"SELECT count(*) {_HOST_CALLS}"):
        works.append(_HOST_WORK_SQL)
    return trace.columns(_CALLS_SQL.format(work=" UNION ALL ".join(works)))
