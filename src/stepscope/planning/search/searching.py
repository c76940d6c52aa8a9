"""Find the layouts with the shortest step among those that fit."""

from __future__ import annotations

import heapq

from stepscope.planning.judge import judge
from stepscope.planning.layout import Layout
from stepscope.planning.memory.total import MemoryUse, memory
from stepscope.planning.request import Request
from stepscope.planning.result import JudgedPlan
from stepscope.planning.search.space import frameworks, groups, layouts


def search(asked: Request, top: int) -> tuple[list[JudgedPlan], int, JudgedPlan | None]:
    """The best plans, how many layouts were looked at, and, if none fits, the one that comes nearest.

    Of a group's layouts, which differ in recomputation alone, the first one that fits is the fastest: only that is
    timed. Ties go to fewer stages, then to less tensor parallelism.
    """
    fitting: list[JudgedPlan] = []
    nearest: tuple[MemoryUse, Layout] | None = None
    looked = 0
    for framework in frameworks(asked):
        for group in groups(asked):
            timed: set[int] = set()
            for layout in layouts(asked, group, framework):
                if layout.zero in timed:
                    continue
                looked += 1
                taken = memory(asked.shape, layout, asked.platform)
                if taken.fits:
                    timed.add(layout.zero)
                    fitting.append(judge(asked.shape, layout, asked.platform))
                elif nearest is None or taken.device_bytes < nearest[0].device_bytes:
                    nearest = (taken, layout)
    best = heapq.nsmallest(top, fitting, key=_order)
    if best or nearest is None:
        return best, looked, None
    return [], looked, judge(asked.shape, nearest[1], asked.platform)


def _order(plan: JudgedPlan) -> tuple[float, bool, int, int, int]:
    layout = plan.layout
    # Steps that differ by less than 0.5 % are alike: then what is simpler, and leaves room, comes first.
    alike = round(200 * _log(plan.step_ns))
    return alike, plan.memory.tight, layout.pp * layout.virtual_stages, layout.tp, plan.step_ns


def _log(value: int) -> float:
    from math import log

    return log(max(1, value))
