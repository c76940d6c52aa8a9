"""Compare the profiler's own sums with the same sums computed from its events."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from stepscope.analyses.registry import Analysis
from stepscope.analyses.shared.device_time import device_times
from stepscope.analyses.steps.step_budget import step_budget
from stepscope.model.errors import MissingInputError
from stepscope.model.intervals import Intervals
from stepscope.model.schema import TableSchema, flag, fraction, ns, text
from stepscope.model.table import Table
from stepscope.model.tables import RANK, RECORDED
from stepscope.model.trace import Trace

RECORDED_SUMMARY: Final = TableSchema(
    "recorded_summary",
    "Times that the profiler summed up itself, where they can be computed from what it recorded: one row per number, "
    "the largest difference first. Recordings round, and count calls before the first step and after the last.",
    (
        RANK,
        RECORDED["source"],
        RECORDED["step"],
        text("subject", "What the time is of: an operator's type and core, a layer and call, a collective."),
        text("metric", "What is summed up, as recorded."),
        ns("recorded_ns", "As the profiler has it, rounded to whole ns."),
        ns("computed_ns", "As computed from the recorded events."),
        ns("difference_ns", "computed_ns - recorded_ns.", signed=True),
        fraction("difference", "difference_ns as a share of recorded_ns; null where that is 0.", nullable=True,
                 signed=True),
        flag("adds_up", "Whether it overlaps no other number of its source, so that those of all such rows add up."),
    ),
)  # fmt: skip

Row = tuple[str, str | None, str, str, int, int]

#: By source: the metric compared, ns per unit, and the same sums by subject. A subject that events of several kinds
#: could mean is left out.
_SUMS: Final = {
    "operators": ("Total Time(us)", 1e3, "SELECT op_type || ' ' || core AS subject, sum(dur)::BIGINT AS total "
                  "FROM kernels WHERE kind = 'compute' AND core IS NOT NULL GROUP BY 1"),
    "api": ("Time(us)", 1e3, "SELECT unnest([level || name, CASE WHEN name LIKE 'Node@%' THEN 'node ' || name[6:] "
            "WHEN name LIKE 'Hccl@%' THEN 'hccl ' || name[6:] WHEN name LIKE 'Model@%' THEN 'model ' || name[7:] END]) "
            "AS subject, total FROM (SELECT n.name, unnest(['acl ', 'runtime ']) AS level, sum(s.dur)::BIGINT AS total "
            "FROM spans s JOIN names n USING (name_id) WHERE s.category IN ('runtime', 'launch', 'sync') GROUP BY 1)"),
}  # fmt: skip

_SUM_SQL: Final = """
SELECT DISTINCT r.step, r.subject, r.metric, r.value, c.total FROM recorded r JOIN ({sums}) c USING (subject)
WHERE r.source = '{source}' AND r.metric = '{metric}' AND c.total IS NOT NULL ORDER BY r.subject
"""

#: Collectives are called alike in the profiler's files and on the device, but for the group at the end.
_COLLECTIVES_SQL: Final = """
WITH named AS (
    SELECT name, min(event) AS event, min(dur) AS dur FROM kernels WHERE kind = 'comm'
    GROUP BY name HAVING count(*) = 1
), parts AS (
    SELECT t.collective, coalesce(sum(s.dur) FILTER (WHERE t.kind = 'wait'), 0) AS waited,
        coalesce(sum(s.dur) FILTER (WHERE t.bytes > 0 AND t.link IS DISTINCT FROM 'ON_CHIP'), 0) AS moved
    FROM comm_tasks t JOIN spans s ON s.id = t.event WHERE t.plane = 1 GROUP BY 1
)
SELECT r.step, r.subject, r.metric, r.value, (
        CASE r.metric WHEN 'Elapse Time(ms)' THEN n.dur WHEN 'Transit Time(ms)' THEN p.moved ELSE p.waited END
    )::BIGINT AS total
FROM recorded r JOIN named n ON n.name = regexp_extract(r.subject, '^\\S+ (\\S+?)@', 1)
LEFT JOIN parts p ON p.collective = n.event
WHERE r.source = 'communication' AND r.metric IN ('Elapse Time(ms)', 'Transit Time(ms)', 'Wait Time(ms)')
ORDER BY r.step, r.subject, r.metric
"""


def recorded_summary(trace: Trace) -> Table:
    """Compare the profiler's own sums with what its events add up to.

    Raises:
        MissingInputError: The recording has no sums of its profiler, or none that could be compared.
    """
    if not trace.scalar("SELECT count(*) FROM recorded"):
        raise MissingInputError.of("summaries")
    rows = [*_overlap(trace), *_steps(trace), *_sums(trace), *_collectives(trace)]
    if not rows:
        raise MissingInputError.of("summaries")
    rows.sort(key=lambda row: (-abs(row[5] - row[4]), row[0], row[1] or "", row[2], row[3]))
    rank = trace.ranks[0]
    return Table.from_rows(
        RECORDED_SUMMARY,
        [(rank, *row, row[5] - row[4], (row[5] - row[4]) / row[4] if row[4] else None, _adds_up(row)) for row in rows],
    )


def _adds_up(row: Row) -> bool:
    """Communication is counted with and without what overlaps compute, and by elapsed, moving and waiting time."""
    source, _, subject, metric, *_ = row
    told = {"overlap": subject, "steps": metric, "communication": metric}.get(source)
    return told is None or told in ("Computing", "Communication(Not Overlapped)", "Free", "Elapse Time(ms)")


def _overlap(trace: Trace) -> Iterator[Row]:
    """Computing, communication and free time between them, of the rank's only device."""
    recorded = {row["subject"]: row["value"] for row in _of(trace, "overlap") if row["metric"] == "Duration(ns)"}
    devices = trace.once(device_times) if recorded else []
    if len(devices) != 1:
        return
    [device] = devices
    busy = device.compute | device.comm
    free = Intervals(busy.ends[:-1], busy.starts[1:])
    totals = {
        "Computing": device.compute, "Communication": device.comm,
        "Communication(Not Overlapped)": device.comm - device.compute, "Free": free,
    }  # fmt: skip
    for name, intervals in totals.items():
        if name in recorded:
            yield "overlap", None, name, "Duration(ns)", round(recorded[name]), intervals.total


def _steps(trace: Trace) -> Iterator[Row]:
    """The same per step, in µs. The profiler's free time starts with the first kernel, so it is left out."""
    recorded = {(row["step"], row["metric"]): row["value"] for row in _of(trace, "steps")}
    if not recorded:
        return
    for step in trace.once(step_budget).records():
        number = None if step["number"] is None else str(step["number"])
        computed = {
            "Computing": step["compute_ns"],
            "Communication": step["comm_ns"],
            "Communication(Not Overlapped)": step["exposed_comm_ns"],
            "Overlapped": step["comm_ns"] - step["exposed_comm_ns"],
        }
        for metric, total in computed.items():
            value = recorded.get((number, metric))
            if value is not None:
                yield "steps", number, "", metric, round(value * 1000), total


def _sums(trace: Trace) -> Iterator[Row]:
    for source, (metric, unit, sums) in _SUMS.items():
        found = trace.rows(_SUM_SQL.format(sums=sums, source=source, metric=metric))
        for row in found:
            yield source, row["step"], row["subject"], metric, round(row["value"] * unit), row["total"]


def _collectives(trace: Trace) -> Iterator[Row]:
    for row in trace.rows(_COLLECTIVES_SQL):
        if row["total"] is not None:
            recorded = round(row["value"] * 1e6)
            yield "communication", row["step"], row["subject"], row["metric"], recorded, row["total"]


def _of(trace: Trace, source: str) -> list[dict[str, Any]]:
    """The profiler's numbers of one source."""
    query = "SELECT step, subject, metric, value FROM recorded WHERE source = $source"
    rows: list[dict[str, Any]] = trace.rows(query, {"source": source})
    return rows


ANALYSES = (Analysis(RECORDED_SUMMARY, recorded_summary),)
