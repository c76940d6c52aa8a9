"""Where the compared steps of a side are in its recording, and which of them is the typical one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from stepscope.model.events.steps import Steps

if TYPE_CHECKING:
    from stepscope.comparison.summary import SideFacts
    from stepscope.model.trace import Trace


def shown_steps(trace: Trace, side: SideFacts) -> dict[str, Any]:
    """The compared steps of a side in time order.

    Returns:
        `moments`, a list of step, start and end in ns since the origin of the rank's recording; `typical`, the position
        of the one whose length is the median (the lower of the two middle ones), None without
        any, as where no times are recorded.
    """
    if side.unit == "none":
        return {"moments": [], "typical": None}
    steps = Steps.of(trace.rank(side.rank))
    chosen = np.isin(steps.step, side.steps)
    start, end = (steps.ts, steps.stop) if side.unit == "host step" else (steps.start, steps.end)
    moments = [
        [number, first, last]
        for number, first, last in zip(
            steps.step[chosen].tolist(), start[chosen].tolist(), end[chosen].tolist(), strict=True
        )
        if last > first
    ]
    order = sorted(range(len(moments)), key=lambda i: moments[i][2] - moments[i][1])
    return {"moments": moments, "typical": order[(len(order) - 1) // 2] if order else None}
