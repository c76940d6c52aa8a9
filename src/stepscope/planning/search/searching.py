"""Find the layouts with the shortest step among those that fit."""

from __future__ import annotations

import heapq
import math
from dataclasses import replace

from stepscope.planning.judge import judge
from stepscope.planning.layout import Layout, Schedule
from stepscope.planning.memory.total import MemoryUse, memory
from stepscope.planning.request import Request
from stepscope.planning.result import JudgedPlan
from stepscope.planning.search.space import frameworks, groups, layouts, precisions


def search(asked: Request, top: int) -> tuple[list[JudgedPlan], int, JudgedPlan | None]:
    """The best plans, how many layouts were looked at, and, if none fits, the one that comes nearest.

    Of a group's layouts with one schedule, which differ in recomputation alone, the first one that fits is the fastest:
    only that is timed. Ties go to fewer stages, then to less tensor parallelism. What is kept in the host's memory
    costs the most time: it is looked at only if nothing fits without it.
    """
    best, looked, nearest = _every_precision(asked, top)
    for kept in ("optimizer", "weights") if "offload" not in asked.fixed else ():
        if best:
            break
        best, more, _ = _every_precision(replace(asked, fixed={**asked.fixed, "offload": kept}), top)
        looked += more
    return best, looked, None if best else nearest


def _every_precision(asked: Request, top: int) -> tuple[list[JudgedPlan], int, JudgedPlan | None]:
    """The best of all precisions, and of each one at least its best where there is room for it."""
    if "precision" in asked.fixed:
        return _search(asked, top)
    found: list[list[JudgedPlan]] = []
    looked, nearest = 0, None
    for precision in precisions(asked):
        best, more, near = _search(replace(asked, fixed={**asked.fixed, "precision": precision}), top)
        looked += more
        nearest = nearest or near
        found.append(best)
    every = heapq.nsmallest(top, (plan for best in found for plan in best), key=_order)
    for best in found:
        if top > 1 and best and best[0] not in every:
            every[-1] = best[0]
    return every, looked, None if every else nearest


def _search(asked: Request, top: int) -> tuple[list[JudgedPlan], int, JudgedPlan | None]:
    fitting: list[JudgedPlan] = []
    nearest: tuple[MemoryUse, Layout] | None = None
    looked = 0
    for framework in frameworks(asked):
        for group in groups(asked):
            timed: set[tuple[int, Schedule]] = set()
            for layout in layouts(asked, group, framework):
                if (layout.zero, layout.schedule) in timed:
                    continue
                looked += 1
                taken = memory(asked.shape, layout, asked.platform)
                if taken.fits:
                    timed.add((layout.zero, layout.schedule))
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
    alike = round(200 * math.log(max(1, plan.step_ns)))
    return alike, plan.memory.tight, layout.pp * layout.virtual_stages, layout.tp, plan.step_ns
