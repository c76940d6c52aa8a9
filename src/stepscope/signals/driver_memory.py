"""Memory that the allocator takes from the driver and gives back, step after step."""

from __future__ import annotations

import re
from dataclasses import dataclass, fields, replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from stepscope.analyses.needs import need_calls, need_operators
from stepscope.model import runtime_names
from stepscope.model.intervals import Times
from stepscope.signals.job import step_ns
from stepscope.signals.signal import Signals, signal

_NAMES_SQL: Final = """
SELECT name_id, name FROM names WHERE name_id IN (SELECT DISTINCT name_id FROM spans WHERE category = 'runtime')
"""
_CALLS_SQL: Final = """
SELECT s.id, s.ts, coalesce(s.dur, 0) AS dur, s.step, s.name_id IN (SELECT unnest($frees)) AS free,
    coalesce(p.category = 'op', false) AS in_operator
FROM spans s LEFT JOIN spans p ON p.id = s.parent
WHERE s.category = 'runtime' AND s.name_id IN (SELECT unnest($calls)) AND s.step IN (
    SELECT step FROM steps WHERE NOT partial AND source <> 'whole')
ORDER BY s.ts, s.id
"""
_STEPS_SQL: Final = "SELECT step FROM steps WHERE NOT partial AND source <> 'whole' ORDER BY ts"
_EMPTY_CACHE_SQL: Final = """
SELECT count(*) FROM spans WHERE name_id IN (SELECT name_id FROM names WHERE name LIKE '%: empty_cache')
"""
#: Calls for page-locked host memory are another matter.
_HOST: Final = re.compile(r"Host", re.I)
_FREE: Final = re.compile(r"Free|Release|Unmap|Trim", re.I)


@dataclass(frozen=True, slots=True)
class DriverCalls:
    """The n calls that take device memory from the driver or give it back, in complete steps and in time order.

    Attributes:
        event: int64[n].
        ts: int64[n].
        dur: int64[n].
        step: int64[n].
        free: bool[n], whether it gives memory back.
        in_operator: bool[n], whether an operator made it, as those that need memory do.
        steps: int64[m], the complete steps.
    """

    event: NDArray[np.int64]
    ts: Times
    dur: Times
    step: NDArray[np.int64]
    free: NDArray[np.bool_]
    in_operator: NDArray[np.bool_]
    steps: NDArray[np.int64]

    def where(self, chosen: NDArray[np.bool_]) -> DriverCalls:
        """Some of the calls."""
        arrays: dict[str, Any] = {one.name: getattr(self, one.name)[chosen] for one in fields(self)[:-1]}
        return replace(self, **arrays)

    @property
    def steady(self) -> DriverCalls:
        """Those after the first step, in which every job takes its memory."""
        return self.where(self.step != self.steps[:1])

    @property
    def recurrence(self) -> float:
        """Share of the steps after the first in which there are any."""
        later = max(self.steps.size - 1, 1)
        return np.unique(self.step[np.isin(self.step, self.steps[1:])]).size / later


@signal()
def driver_calls(s: Signals) -> DriverCalls:
    """Calls that take device memory from the driver or give it back, in complete steps."""
    need_calls(s.trace)
    names = {row["name_id"]: row["name"] for row in s.trace.rows(_NAMES_SQL)}
    calls = [i for i, name in names.items() if runtime_names.is_allocation(name) and not _HOST.search(name)]
    frees = [i for i in calls if _FREE.search(names[i])]
    rows = s.trace.columns(_CALLS_SQL, {"calls": calls, "frees": frees})
    return DriverCalls(
        rows["id"], rows["ts"], rows["dur"], rows["step"].astype(np.int64), rows["free"].astype(np.bool_),
        rows["in_operator"].astype(np.bool_), s.trace.columns(_STEPS_SQL)["step"].astype(np.int64),
    )  # fmt: skip


@signal()
def unasked_frees(s: Signals) -> DriverCalls:
    """Those that give memory back though no operator needs any: the program asked for it."""
    need_operators(s.trace)
    found = s(driver_calls)
    return found.where(found.free & ~found.in_operator)


@signal("share")
def driver_share(s: Signals) -> float:
    """Time in these calls per step after the first, as a share of the mean step."""
    found = s(driver_calls)
    later = max(found.steps.size - 1, 1)
    return float(found.steady.dur.sum()) / later / s(step_ns)


@signal()
def emptied(s: Signals) -> bool | None:
    """Whether the program calls empty_cache itself; null if no Python stacks are recorded."""
    if not s.trace.scalar("SELECT count(*) FROM spans WHERE category = 'python'"):
        return None
    return bool(s.trace.scalar(_EMPTY_CACHE_SQL))
