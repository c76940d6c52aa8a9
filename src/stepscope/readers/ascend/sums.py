"""Derive collectives and steps from the profiler's own sums, for ranks without events.

`communication.json` has the start, duration and transfer time of each collective; `step_trace_time.csv` the times of
computing, communication and idle in each step. `analysis.db` has both.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from stepscope.store.staging import Staging

#: One row per collective in the sums, times in ns of the recording's clock. The transfer time is at most the sum over
#: transports, and at most the collective's duration.
_TABLE: Final = r"""
CREATE TABLE ascend_sums AS
WITH named AS (
    SELECT step, metric, value, source, regexp_extract(subject, '^\S+ (\S+?)@(\S+)( \S+)?$', 1) AS name,
        regexp_extract(subject, '^\S+ (\S+?)@(\S+)( \S+)?$', 2) AS group_name,
        regexp_extract(subject, '^\S+ (\S+?)@(\S+) (\S+)$', 3) AS transport
    FROM recorded WHERE source IN ('communication', 'bandwidth')
), times AS (
    SELECT step, name, group_name,
        max(value) FILTER (WHERE metric = 'Start Timestamp(us)') AS us,
        max(value) FILTER (WHERE metric = 'Elapse Time(ms)') * 1000000 AS dur,
        max(value) FILTER (WHERE metric = 'Transit Time(ms)') * 1000000 AS transit
    FROM named WHERE source = 'communication' AND name <> '' GROUP BY ALL
), moved AS (
    SELECT step, name, group_name,
        sum(value) FILTER (WHERE metric = 'Transit Time(ms)') * 1000000 AS moving,
        sum(value) FILTER (WHERE metric = 'Transit Size(MB)') * 1000000 AS bytes
    FROM named WHERE source = 'bandwidth' AND transport IN ('SDMA', 'RDMA') GROUP BY ALL
), known AS (SELECT coalesce(sum(bytes), 0) > 0 AS sizes FROM moved)
SELECT step, name, group_name, floor(us)::BIGINT * 1000 + round((us - floor(us)) * 1000)::BIGINT AS ts,
    try_cast(dur AS BIGINT) AS dur,
    CASE WHEN sizes THEN try_cast(least(dur, greatest(coalesce(transit, 0), coalesce(moving, 0))) AS BIGINT) END
        AS moving,
    CASE WHEN sizes THEN coalesce(try_cast(bytes AS BIGINT), 0) END AS bytes
FROM times LEFT JOIN moved USING (step, name, group_name), known
WHERE us > 0 AND us < 9e15 AND dur >= 0 AND dur < 1e18 ORDER BY ts, name
"""

#: A step's start is not recorded: it ends with its last collective, unless it would overlap the step before.
_STEPS: Final = """
SELECT s.step, s.compute + s.exposed + s.free AS ns, c.first, c.last
FROM (
    SELECT step, try_cast(round(max(value) FILTER (WHERE metric = 'Computing') * 1000) AS BIGINT) AS compute,
        try_cast(round(max(value) FILTER (WHERE metric = 'Communication(Not Overlapped)') * 1000) AS BIGINT) AS exposed,
        try_cast(round(max(value) FILTER (WHERE metric = 'Free') * 1000) AS BIGINT) AS free
    FROM recorded WHERE source = 'steps' AND value >= 0 AND value < 1e15 GROUP BY 1
) s LEFT JOIN (
    SELECT step, min(ts) AS first, max(ts + dur) AS last FROM ascend_sums GROUP BY 1
) c USING (step)
WHERE ns > 0 ORDER BY c.first NULLS LAST, try_cast(s.step AS BIGINT)
"""

#: Kernel types with a higher count in `op_statistic.csv` than events; a few at the edges are normal.
_KERNELS_MISSING: Final = """
SELECT CASE WHEN sum(counted) > 1.02 * sum(coalesce(seen, 0))
    THEN try_cast(sum(counted - coalesce(seen, 0)) AS BIGINT) END
FROM (SELECT subject, try_cast(max(value) AS BIGINT) AS counted FROM recorded
    WHERE source = 'operators' AND metric = 'Count' GROUP BY 1)
LEFT JOIN (SELECT op_type || ' ' || core AS subject, count(*) AS seen FROM ascend_device
    WHERE kind = 'compute' AND op_type IS NOT NULL AND core IS NOT NULL GROUP BY 1) USING (subject)
WHERE counted > coalesce(seen, 0) AND EXISTS (FROM ascend_device WHERE kind = 'compute' AND core IS NOT NULL)
"""

#: The matrix numbers ranks by position in the group: the highest one shows how many it has at least.
_SIZES: Final = r"""
SELECT "group", max(rank) + 1 FROM (
    SELECT regexp_extract(subject, '@(\S+)', 1) AS "group", unnest([
        try_cast(regexp_extract(subject, ' (\d+)-\d+( |$)', 1) AS INTEGER),
        try_cast(regexp_extract(subject, ' \d+-(\d+)( |$)', 1) AS INTEGER)]) AS rank
    FROM recorded WHERE source = 'matrix'
) WHERE "group" <> '' AND rank < 1000000 GROUP BY 1 HAVING max(rank) > 0
"""

_COLLECTIVES: Final = """
INSERT INTO ascend_device BY NAME
SELECT row_number() OVER (ORDER BY ts, name) + {first} - 1 AS i, ts, dur,
    'group ' || dense_rank() OVER (ORDER BY group_name) AS stream, name, 'summed' AS kind FROM ascend_sums
"""
_STEP: Final = "INSERT INTO ascend_host BY NAME SELECT ? AS i, ? AS ts, ? AS dur, 'profiler' AS process, " \
               "'steps' AS thread, ? AS name, 'step' AS category"  # fmt: skip
#: Time used if no time of day is recorded.
_SOME_DAY: Final = 10**18


@dataclass(frozen=True, slots=True)
class Sum:
    """Sums of one collective.

    Attributes:
        moving: Transfer time in ns; None if unknown.
        sent: Bytes that this rank moved over links; None if unknown.
    """

    moving: int | None
    sent: int | None


def gather_sums(staging: Staging) -> None:
    """Fill `ascend_sums` from `recorded`."""
    staging.connection.execute(_TABLE)


def take_sums_for_events(staging: Staging, end: int | None) -> bool:
    """Add collectives and steps derived from the sums; returns whether there are any.

    Args:
        staging: The staging area, with `ascend_sums` filled.
        end: End of the recording in ns; None if unknown.
    """
    connection = staging.connection
    found = connection.execute(_STEPS).fetchall()
    if not (found or staging.one("SELECT count(*) FROM ascend_sums") != (0,)):
        return False
    reach = 0
    for i, (step, ns, first, last) in enumerate(found):
        start = (end or _SOME_DAY) - sum(row[1] for row in found[i:]) if first is None else min(first, last - ns)
        start = max(start, min(reach, first or reach))
        number = step if step and step.isdigit() else None
        connection.execute(_STEP, [i, start, ns, f"ProfilerStep#{number}" if number else "step"])
        reach = start + ns
    connection.execute(_COLLECTIVES.format(first=len(found)))
    connection.execute("INSERT INTO ascend_collectives SELECT i, NULL, NULL, NULL FROM ascend_device")
    staging.observe(
        "sums-only", "warning", 1, "of a rank only the profiler's sums are at hand, no events",
        "the lengths of its steps and what they are made of are recorded, where in time they lie is not; kernels, "
        "operators and idle causes are missing; keep trace_view.json and kernel_details.csv",
    )  # fmt: skip
    return True


def observe_missing(staging: Staging) -> None:
    """Report sums that exceed the events found, as in truncated tables."""
    [names] = staging.one("SELECT count(DISTINCT name) FROM ascend_sums ANTI JOIN (SELECT name FROM ascend_device) "
                          "USING (name)")  # fmt: skip
    staging.observe(
        "collectives-missing", "warning", names, "collectives that the profiler summed up are not among its events",
        "they are missing from every number; the files may be cut, or of another recording",
    )  # fmt: skip
    [kernels] = staging.one(_KERNELS_MISSING)
    staging.observe(
        "kernels-missing", "warning", kernels or 0, "kernels that the profiler counted are not among its events",
        "device time is too low; the files may be cut, or of another recording",
    )  # fmt: skip


def sizes_in_matrix(staging: Staging) -> dict[str, int]:
    """Number of ranks of each group with recorded links, at least."""
    return dict(staging.connection.execute(_SIZES).fetchall())


def sums_by_name(staging: Staging) -> dict[str, Sum]:
    """Sums by name of the operation, for names of a single collective."""
    rows: list[tuple[Any, ...]] = staging.connection.execute(
        "SELECT name, any_value(moving), any_value(bytes) FROM ascend_sums GROUP BY 1 HAVING count(*) = 1"
    ).fetchall()
    return {name: Sum(moving, sent) for name, moving, sent in rows}
