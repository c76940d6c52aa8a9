"""Steps: recorded, annotated, inferred, or the whole recording as one."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from stepscope.ingest.derive.step import Step
from stepscope.ingest.derive.step_annotations import annotated_steps
from stepscope.ingest.derive.step_sequences import inferred_steps
from stepscope.model.intervals import Times
from stepscope.store.staging import Staging

#: A first or last step with less than this share of the others' work is cut off (as in torch-tb-profiler).
_WHOLE_STEP: Final = 0.8

_RECORDED_SQL: Final = """
SELECT name, try_cast(regexp_extract(name, '#\\s*(\\d+)', 1) AS BIGINT) AS number, ts, dur
FROM raw_events JOIN names USING (name_id) JOIN tracks USING (track)
WHERE category = 'step' AND kind = 'host' AND dur > 0 ORDER BY dur DESC, id
"""

_SPAN_SQL: Final = "SELECT min(ts), max(ts + coalesce(dur, 0)) FROM raw_events"

_WORK_SQL: Final = """
SELECT ts FROM raw_events
WHERE category IN ('launch', 'op') AND track IN (SELECT track FROM tracks WHERE kind = 'host')
"""


def derive_steps(staging: Staging) -> None:
    """Fill `raw_steps`: intervals on the host, ascending and without overlap."""
    source, steps = _find(staging)
    starts = np.array([step.ts for step in steps], np.int64)
    ends = starts + np.array([step.dur for step in steps], np.int64)
    known = np.array([step.partial for step in steps], np.bool_)
    columns = {
        "step": pa.array(range(len(steps)), pa.int32()),
        "name": pa.array([step.name for step in steps], pa.string()),
        "number": pa.array([step.number for step in steps], pa.int64()),
        "source": pa.array([source] * len(steps), pa.string()),
        "ts": pa.array(starts),
        "dur": pa.array(ends - starts),
        "partial": pa.array(known | _cut_off(staging, starts, ends), pa.bool_()),
    }
    staging.connection.execute(
        "CREATE TABLE raw_steps (step INTEGER, name VARCHAR, number BIGINT, source VARCHAR, ts BIGINT, dur BIGINT, "
        "partial BOOLEAN)"
    )
    staging.insert("raw_steps", pa.table(columns))


def extend_steps(staging: Staging) -> None:
    """Fill `steps`: every step reaches to the end of the last device work launched in it."""
    staging.connection.execute(
        "CREATE TABLE steps AS SELECT s.step, s.name, s.number, s.source, s.ts, s.dur, "
        'greatest(s.ts + s.dur, coalesce(k.stop, 0)) AS "end", s.partial FROM raw_steps s LEFT JOIN '
        "(SELECT step, max(ts + dur) AS stop FROM kernels WHERE kind <> 'sync' GROUP BY 1) k USING (step) ORDER BY 1"
    )


def _find(staging: Staging) -> tuple[str, list[Step]]:
    """Where the steps come from, and the steps; none if there is no event at all."""
    for source, find in (
        ("profiler", _recorded_steps),
        ("annotation", annotated_steps),
        ("inferred", inferred_steps),
    ):
        steps = _apart(find(staging))
        if steps:
            return source, steps
    first, last = staging.one(_SPAN_SQL)
    return "whole", [] if first is None else [Step("whole recording", None, first, last - first)]


def _recorded_steps(staging: Staging) -> list[Step]:
    """What the profiler recorded as steps; where threads record the same step, the longest record of it."""
    chosen: list[Step] = []
    by_name: dict[str, list[Step]] = {}
    for row in staging.connection.execute(_RECORDED_SQL).fetchall():
        step = Step(*row)
        others = by_name.setdefault(step.name, [])
        if all(step.ts >= other.ts + other.dur or step.ts + step.dur <= other.ts for other in others):
            others.append(step)
            chosen.append(step)
    return chosen


def _apart(steps: list[Step]) -> list[Step]:
    """The steps in time order, each cut where the next begins; of those that begin together the longest."""
    steps = sorted(steps, key=lambda step: (step.ts, -step.dur))
    kept = [step for i, step in enumerate(steps) if not i or step.ts > steps[i - 1].ts]
    limits = [step.ts for step in kept[1:]]
    cut = [replace(step, dur=min(step.dur, limit - step.ts)) for step, limit in zip(kept[:-1], limits, strict=True)]
    return cut + kept[-1:]


def _cut_off(staging: Staging, starts: Times, ends: Times) -> NDArray[Any]:
    """Whether each step is the first or the last one and has clearly less work than the others."""
    partial = np.zeros(starts.size, np.bool_)
    # Threads are recorded almost in order, and this sort merges what is in order.
    work = np.sort(staging.connection.execute(_WORK_SQL).fetchnumpy()["ts"], kind="stable")
    amount = np.searchsorted(work, ends) - np.searchsorted(work, starts)
    for position, least_others in ((0, 2), (-1, 1)):
        others = np.delete(amount, position) if starts.size else amount
        if others.size >= least_others:
            partial[position] = amount[position] < _WHOLE_STEP * float(np.median(others))
    return partial
