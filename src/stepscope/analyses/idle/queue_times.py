"""Time of a kernel's launch call, its wait in the queue, and its run."""

from __future__ import annotations

from stepscope.analyses.registry import Analysis
from stepscope.analyses.shared.grouping import SHARE_SQL, SUMMARY_SQL, by_name
from stepscope.analyses.shared.needs import need_calls, need_device
from stepscope.model.schema import Column, TableSchema, count, ns, summary_columns, text
from stepscope.model.table import Table
from stepscope.model.tables import RANK, TRACKS
from stepscope.model.trace import Trace

_WHOLE = "from the start of the launch call to the end of the call or of the kernel, whichever is later"


def _part(part: str, what: str, *, nullable: bool = False) -> tuple[Column, ...]:
    """Columns that sum up one part of a launch's time."""
    return tuple(
        ns(f"{part}_{statistic}_ns", f"{word} {what}.", nullable=nullable)
        for statistic, word in (
            ("total", "Sum of"),
            ("median", "Median (the lower of the two middle ones) of"),
            ("min", "Shortest"),
            ("max", "Longest"),
        )
    )


QUEUE_TIMES = TableSchema(
    "queue_times",
    f"One row per kernel, launch call, thread and device. `total_ns` and its kin are times {_WHOLE}, which overlap "
    "each other. Kernels without a recorded launch are left out.",
    (
        *summary_columns("kernel", "these times of all kernels"),
        RANK,
        text("call", "The launch call."),
        TRACKS["process"],
        TRACKS["thread"],
        TRACKS["device"],
        *_part("call", "durations of the calls"),
        count("queued", "How many kernels began after the call had ended."),
        *_part(
            "queue", "times from the end of the call to the start of the kernel, of those. Null if none", nullable=True
        ),
        *_part("kernel", "durations of the kernels"),
    ),
)


def _part_sql(part: str) -> str:
    return (
        f"sum({part})::BIGINT AS {part}_total_ns, quantile_disc({part}, 0.5)::BIGINT AS {part}_median_ns, "
        f"min({part}) AS {part}_min_ns, max({part}) AS {part}_max_ns"
    )


_SQL = f"""
WITH launched AS (
    SELECT k.name, k.launch_name_id AS name_id, t.process, t.thread, k.device, coalesce(launch_dur, 0) AS call,
        k.dur AS kernel, greatest(launch_ts + call, k.ts + k.dur) - launch_ts AS dur,
        CASE WHEN k.ts > launch_ts + call THEN k.ts - launch_ts - call END AS queue
    FROM activities k JOIN tracks t ON t.track = k.launch_track
    WHERE k.kind IN ('compute', 'comm')
)
SELECT *, {SHARE_SQL} FROM (
    SELECT launched.name, n.name AS call, process, thread, device, {SUMMARY_SQL},
        {_part_sql("call")}, count(queue) AS queued, {_part_sql("queue")}, {_part_sql("kernel")}
    FROM launched JOIN names n USING (name_id) GROUP BY launched.name, n.name, process, thread, device
) ORDER BY total_ns DESC, name, call, process, thread, device
"""


def queue_times(trace: Trace) -> Table:
    """Sum up the times of kernels by kernel, launch call, thread and device.

    Raises:
        MissingInputError: The recording has no device activity, or no calls of a device runtime.
    """
    need_device(trace)
    need_calls(trace)
    return by_name(trace, QUEUE_TIMES, _SQL)


ANALYSES = (Analysis(QUEUE_TIMES, queue_times),)
