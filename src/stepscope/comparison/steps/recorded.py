"""Every recorded step of a side, with what makes it longer than the others."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from stepscope.analyses.idle.idle_causes import idle_causes
from stepscope.analyses.steps.step_budget import step_budget
from stepscope.comparison.noise.modes import slow_mode
from stepscope.comparison.parts.charged import BUSY
from stepscope.comparison.side import ComparedSide
from stepscope.model.errors import MissingInputError

#: A step that is left out is slow if it takes so many times as long as the usual ones.
SLOW: Final = 1.1
#: Columns of `step_budget` that are parts of a step.
_COLUMNS: Final = dict(zip(BUSY, ("compute_ns", "exposed_comm_ns", "exposed_copy_ns"), strict=True))
_STEPS_SQL: Final = """
SELECT step, greatest("end" - "begin", 0) AS device_ns, dur AS host_ns, role, reason, typical
FROM steps ORDER BY ts, step
"""


@dataclass(frozen=True, slots=True)
class RecordedStep:
    """A step of a recording.

    Attributes:
        step: Its number.
        ns: Its length, on the devices where there are any.
        role: typical, partial, warm-up, edge or outlier, as in `steps`.
        reason: Why it is not typical; empty if it is.
        at: Part of the step that makes it longer than the usual ones, as in `step_parts`; empty if it is not slow, or
            the recording does not tell.
        parts: Its time by part, over all devices, in ns; empty where that is not known.
    """

    step: int
    ns: int
    role: str
    reason: str = ""
    at: str = ""
    parts: Mapping[str, int] = field(default_factory=dict, compare=False)

    @property
    def complete(self) -> bool:
        """Whether all of it is recorded; of requests that overlap, one may have no time of its own all the same."""
        return self.role != "partial"


def recorded_steps(side: ComparedSide) -> tuple[RecordedStep, ...]:
    """The steps of a side in time order, or of those asked for; none where no steps are known."""
    if side.unit not in ("step", "host step"):
        return ()
    rows = side.trace.rows(_STEPS_SQL)
    column = "device_ns" if side.unit == "step" else "host_ns"
    typical = {row["step"] for row in rows if row["typical"]}
    if set(side.steps) != typical:
        rows = [{**row, "role": "typical", "reason": None} for row in rows if row["step"] in side.steps]
    found = [RecordedStep(row["step"], row[column], row["role"], row["reason"] or "") for row in rows]
    return _placed(side, found)


def usual(steps: Sequence[RecordedStep]) -> tuple[RecordedStep, ...]:
    """The typical steps; of two kinds the faster ones."""
    typical = [one for one in steps if one.role == "typical"]
    if not all(one.ns for one in typical):  # what overlaps, and ends together with another, is of no kind
        return tuple(typical)
    slow = slow_mode([one.ns for one in typical])
    return tuple(one for one, late in zip(typical, slow.tolist(), strict=True) if not late)


def _placed(side: ComparedSide, steps: list[RecordedStep]) -> tuple[RecordedStep, ...]:
    """The steps with their parts, and with what makes the slow ones longer."""
    quick = usual(steps)
    if not quick or side.unit != "step":
        return tuple(steps)
    least = SLOW * float(np.mean([one.ns for one in quick]))
    parts = _parts(side)
    usually: defaultdict[str, float] = defaultdict(float)
    for one in quick:
        for part, length in parts.get(one.step, {}).items():
            usually[part] += length / len(quick)
    return tuple(_described(one, parts.get(one.step, {}), usually, slow=one.ns > least) for one in steps)


def _described(
    one: RecordedStep, parts: Mapping[str, int], usually: Mapping[str, float], *, slow: bool
) -> RecordedStep:
    return RecordedStep(one.step, one.ns, one.role, one.reason, _longest(parts, usually) if slow else "", parts)


def _longest(mine: Mapping[str, int], usually: Mapping[str, float]) -> str:
    apart = {part: mine.get(part, 0) - usually.get(part, 0.0) for part in dict.fromkeys((*mine, *usually))}
    return max(apart, key=lambda part: apart[part], default="")


def _parts(side: ComparedSide) -> dict[int, dict[str, int]]:
    """Time of each part by step, over all devices, in ns; empty where the recording does not tell."""
    found: defaultdict[int, defaultdict[str, int]] = defaultdict(lambda: defaultdict(int))
    try:
        budget: list[dict[str, Any]] = side.trace.once(step_budget).records()
        causes = side.trace.once(idle_causes).records()
    except MissingInputError:
        return {}
    for row in budget:
        for part, column in _COLUMNS.items():
            if row["step"] is not None:
                found[row["step"]][part] += row[column]
    for row in causes:
        if row["step"] is not None:
            found[row["step"]][f"idle.{row['cause']}"] += row["total_ns"]
    return {step: dict(parts) for step, parts in found.items()}
