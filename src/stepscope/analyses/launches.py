"""What launching work costs the host, how long launched work waits, and how much of it is too short to be worth it."""

from __future__ import annotations

from typing import Any

import numpy as np

from stepscope.analyses.grouping import SHARE_SQL, SUMMARY_SQL
from stepscope.analyses.needs import need_calls, need_device
from stepscope.analyses.queues import CAPACITY, queues
from stepscope.analyses.registry import Analysis
from stepscope.model.schema import TableSchema, count, ns, summary_columns
from stepscope.model.table import Table
from stepscope.model.tables import RANK
from stepscope.model.trace import Trace

#: Thresholds of HolisticTraceAnalysis' launch statistics: calls over 50 µs, delays over 100 µs.
SLOW_CALL_NS = 50_000
LATE_START_NS = 100_000

LAUNCHES = TableSchema(
    "launches",
    "One row per call that puts work on a device: kernels, graphs, copies, sets. Durations are the host's.",
    (
        *summary_columns("call", "the durations of all such calls"),
        RANK,
        count("activities", "Device activities that the calls launched."),
        ns("device_ns", "Sum of their durations."),
        count("without_activity", "Calls to which no device activity was recorded."),
        count("slow_calls", f"Calls longer than {SLOW_CALL_NS // 1000} µs."),
        ns("delay_median_ns", "Median delay: from the end of a call to its first activity, 0 if that began earlier. "
           "Null if no call has one.", nullable=True),
        ns("delay_mean_ns", "Mean delay, rounded down.", nullable=True),
        ns("delay_max_ns", "Longest delay.", nullable=True),
        count("late_starts", f"Calls with a delay of more than {LATE_START_NS // 1000} µs: work that was queued."),
        count("early_starts", "Calls whose activity began before they returned."),
        count("short_work", "Calls that took the host longer than their activities took the device."),
        count("blocked_calls", f"Calls that found {CAPACITY} launches waiting in their queue, where CUDA blocks."),
        ns("blocked_ns", "Host time of those calls."),
    ),
)  # fmt: skip

_LAUNCHES_SQL = f"""
WITH work AS (
    SELECT launch, min(ts) AS first, count(*) AS activities, sum(dur)::BIGINT AS device_ns,
        any_value(launch_ts) AS ts, any_value(launch_dur) AS dur, any_value(launch_track) AS track,
        any_value(launch_name_id) AS name_id
    FROM activities WHERE kind <> 'sync' AND launch IS NOT NULL GROUP BY launch
), called AS (
    -- What a call launched has its columns, too, so that only those that launched nothing need to be looked for.
    SELECT coalesce(s.track, w.track) AS track, coalesce(s.name_id, w.name_id) AS name_id, coalesce(s.ts, w.ts) AS ts,
        coalesce(s.dur, w.dur, 0) AS dur, w.activities, w.device_ns, w.first
    FROM (SELECT id, track, name_id, ts, dur FROM spans WHERE category = 'launch') s FULL JOIN work w ON w.launch = s.id
), calls AS (
    SELECT name_id, dur, activities, device_ns, greatest(first - ts - dur, 0) AS delay, first < ts + dur AS early
    FROM called JOIN tracks USING (track) WHERE kind = 'host'
)
SELECT * EXCLUDE (name_id), {SHARE_SQL} FROM (
    SELECT n.name, name_id, {SUMMARY_SQL},
        coalesce(sum(activities), 0)::BIGINT AS activities, coalesce(sum(device_ns), 0)::BIGINT AS device_ns,
        count(*) FILTER (WHERE activities IS NULL) AS without_activity,
        count(*) FILTER (WHERE dur > {SLOW_CALL_NS}) AS slow_calls,
        quantile_disc(delay, 0.5) FILTER (WHERE activities > 0) AS delay_median_ns,
        (sum(delay) FILTER (WHERE activities > 0) // nullif(count(activities), 0))::BIGINT AS delay_mean_ns,
        max(delay) FILTER (WHERE activities > 0) AS delay_max_ns,
        count(*) FILTER (WHERE activities > 0 AND delay > {LATE_START_NS}) AS late_starts,
        count(*) FILTER (WHERE early) AS early_starts, count(*) FILTER (WHERE device_ns < dur) AS short_work
    FROM calls JOIN names n USING (name_id) GROUP BY n.name, name_id
) ORDER BY total_ns DESC, name
"""


def launches(trace: Trace) -> Table:
    """Sum up launch calls by name.

    Raises:
        MissingInputError: The recording has no device activity, or no runtime calls.
    """
    need_device(trace)
    need_calls(trace)
    rows = trace.rows(_LAUNCHES_SQL)
    blocked = _blocked(trace)
    for row in rows:
        row["rank"] = trace.ranks[0]
        row["blocked_calls"], row["blocked_ns"] = blocked.get(row["name"], (0, 0))
    return Table.from_rows(LAUNCHES, [[row[name] for name in LAUNCHES.names] for row in rows])


def _blocked(trace: Trace) -> dict[str, tuple[int, int]]:
    """Calls of each name that found a queue full, and their host time."""
    full: dict[int, dict[int, int]] = {}
    for queue in trace.once(queues):
        blocked = queue.blocked
        for name in np.unique(queue.name[blocked]).tolist():
            its = blocked & (queue.name == name)
            pairs = zip(queue.launch[its].tolist(), queue.call_ns[its].tolist(), strict=True)
            full.setdefault(name, {}).update(pairs)
    names: dict[str, Any] = {}
    for name_id, calls in full.items():
        names[trace.scalar("SELECT name FROM names WHERE name_id = ?", [name_id])] = (len(calls), sum(calls.values()))
    return names


ANALYSES = (Analysis(LAUNCHES, launches),)
