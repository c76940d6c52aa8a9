"""Health checks: host threads."""

from __future__ import annotations

from typing import Final

from stepscope.ingest.derive.checks.derived import Derived, share
from stepscope.language import said
from stepscope.model.runtime_names import is_profiler_overhead
from stepscope.store.staging import Observation

#: Overhead of the profiler below this share of the recording is normal.
_OVERHEAD_SHARE: Final = 0.02
#: Frames that start later than this share of the recording and last longer than it, until its very end, were left
#: open. Frames open from the start are normal.
_FRAME_SHARE: Final = 0.05

#: Names, with their time between two times.
_OVERHEAD_SQL: Final = """
SELECT name, count(*) AS events, coalesce(sum(least(ts + dur, $last) - greatest(ts, $first)), 0)::BIGINT AS own
FROM raw_events JOIN names USING (name_id)
WHERE category = 'overhead' AND ts < $last AND ts + dur > $first GROUP BY name
"""
#: The time in which devices are in use, or all of it where none is recorded.
_SPAN_SQL: Final = """
SELECT min(ts), max(ts + coalesce(dur, 0)), true AS used FROM raw_events JOIN raw_kernels ON event = id
HAVING count(*) > 0 UNION ALL SELECT min(ts), max(ts + coalesce(dur, 0)), false FROM raw_events
ORDER BY used DESC LIMIT 1
"""
#: The profiler's own frames at its stop, and what they call, are excepted.
_FRAMES_SQL: Final = """
WITH late AS (
    SELECT e.track, e.ts, n.name FROM raw_events e JOIN names n USING (name_id) JOIN (
        SELECT track, min(ts) AS start, max(ts + coalesce(dur, 0)) AS stop FROM raw_events
        WHERE category IN ('python', 'module') GROUP BY track
    ) t USING (track)
    WHERE e.category IN ('python', 'module') AND e.ts + e.dur = t.stop
        AND e.ts - t.start > $share * (t.stop - t.start) AND e.dur > $share * (t.stop - t.start)
)
SELECT count(*) FROM late LEFT JOIN (
    SELECT track, min(ts) AS stopping FROM late WHERE regexp_matches(name, 'profiler\\.py[(:]') GROUP BY track
) USING (track)
WHERE stopping IS NULL OR ts < stopping
"""


def profiler_overhead(derived: Derived) -> Observation | None:
    """Time spent in the profiler itself, without driver waits and code loading that its tracer also lists.

    What it takes before the device's first work, to start up, makes no step longer.
    """
    if not derived.overview.has("overhead"):
        return None
    first, last, used = derived.staging.one(_SPAN_SQL)
    rows = derived.staging.connection.execute(_OVERHEAD_SQL, {"first": first, "last": last}).fetchall()
    mine = [(events, dur) for name, events, dur in rows if is_profiler_overhead(name)]
    count, own = sum(events for events, _ in mine), sum(dur for _, dur in mine)
    span = last - first
    if not span or own < _OVERHEAD_SHARE * span:
        return None
    where = said("time in which the device was in use") if used else "recording"
    return Observation(
        "profiler-overhead", "warning", count,
        said("events are the profiler's own work ({share} of the {where})", share=share(own, span), where=where),
        "steps are longer than without the profiler; record fewer details or a later step",
    )  # fmt: skip


def unclosed_frames(derived: Derived) -> Observation | None:
    """Python frames that were closed only by the profiler's stop."""
    if not derived.overview.has("python", "module"):
        return None
    [count] = derived.staging.one(_FRAMES_SQL, {"share": _FRAME_SHARE})
    # One frame always ends last.
    if count < 2:
        return None
    return Observation(
        "frames-unclosed", "warning", count, "Python frames last until the very end of the recording",
        "their return was not seen: their time is too long, and what ran after them seems to be inside them",
    )  # fmt: skip
