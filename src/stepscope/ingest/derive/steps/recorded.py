"""Steps recorded by the profiler: `ProfilerStep#7`."""

from __future__ import annotations

import re
from typing import Final

from stepscope.ingest.derive.steps.step import HostStep
from stepscope.store.staging import Staging

#: A recorded step was never closed if more than this share of it follows all other events. (A step may end with a long
#: wait or with unrecorded host work, so a smaller share proves nothing.)
OPEN: Final = 0.99

_NUMBER: Final = re.compile(r"#\s*(\d+)", re.ASCII)
_RECORDED_SQL: Final = """
SELECT name, ts, dur FROM raw_events JOIN names USING (name_id) JOIN tracks USING (track)
WHERE category = 'step' AND kind = 'host' AND dur > 0 ORDER BY dur DESC, id
"""
_LAST_SQL: Final = """
SELECT max(ts + coalesce(dur, 0)) FROM raw_events
WHERE category IN ('op', 'python', 'runtime', 'sync', 'launch', 'kernel', 'collective', 'copy', 'set')
"""


def recorded_steps(staging: Staging) -> list[HostStep]:
    """The recorded steps; the longest record of a step that several threads recorded."""
    chosen: list[HostStep] = []
    by_name: dict[str, list[HostStep]] = {}
    [last] = staging.one(_LAST_SQL)
    never_closed = 0
    for name, ts, dur in staging.connection.execute(_RECORDED_SQL).fetchall():
        if last is not None and ts + dur - last > OPEN * dur:
            never_closed += 1
            continue
        others = by_name.setdefault(name, [])
        if all(ts >= other.ts + other.dur or ts + dur <= other.ts for other in others):
            others.append(HostStep(name, _number(name), ts, dur))
            chosen.append(others[-1])
    if never_closed:
        staging.observe(
            "steps-open", "info", never_closed, "marked steps last long after all other events",
            "they are left out: their end was not recorded, and the recording counts as ending with its other events",
        )  # fmt: skip
    return chosen


def _number(name: str) -> int | None:
    found = _NUMBER.search(name)
    # More digits exceed 64 bits, and Python may refuse to convert them.
    number = int(found[1].lstrip("0")[:20] or 0) if found else None
    return number if number is not None and number < 2**63 else None
