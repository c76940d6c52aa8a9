"""Steps that the profiler recorded itself: `ProfilerStep#7`."""

from __future__ import annotations

import re
from typing import Final

from stepscope.ingest.derive.steps.step import Step
from stepscope.store.staging import Staging

#: A recorded step of which more than this share lies after all else that is recorded was never ended. A step may well
#: end with a long wait or with work of the host that nothing records; the one that was seen had 99.99 % of it.
_OPEN: Final = 0.99

_NUMBER: Final = re.compile(r"#\s*(\d+)", re.ASCII)
_RECORDED_SQL: Final = """
SELECT name, ts, dur FROM raw_events JOIN names USING (name_id) JOIN tracks USING (track)
WHERE category = 'step' AND kind = 'host' AND dur > 0 ORDER BY dur DESC, id
"""
_LAST_SQL: Final = """
SELECT max(ts + coalesce(dur, 0)) FROM raw_events
WHERE category IN ('op', 'python', 'runtime', 'sync', 'launch', 'kernel', 'collective', 'copy', 'set')
"""


def recorded_steps(staging: Staging) -> list[Step]:
    """What the profiler recorded as steps; where threads record the same step, the longest record of it."""
    chosen: list[Step] = []
    by_name: dict[str, list[Step]] = {}
    [last] = staging.one(_LAST_SQL)
    for name, ts, dur in staging.connection.execute(_RECORDED_SQL).fetchall():
        if last is not None and ts + dur - last > _OPEN * dur:
            # Nobody ended it: it lasts long after all else that is recorded.
            continue
        others = by_name.setdefault(name, [])
        if all(ts >= other.ts + other.dur or ts + dur <= other.ts for other in others):
            others.append(Step(name, _number(name), ts, dur))
            chosen.append(others[-1])
    return chosen


def _number(name: str) -> int | None:
    found = _NUMBER.search(name)
    # Of more digits it is no 64-bit number, and Python may refuse to read it.
    number = int(found[1].lstrip("0")[:20] or 0) if found else None
    return number if number is not None and number < 2**63 else None
