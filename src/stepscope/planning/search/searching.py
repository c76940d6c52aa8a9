"""Find the layouts with the shortest step among those that fit."""

from __future__ import annotations

import heapq
import math
from dataclasses import replace
from typing import Final

from stepscope.planning.judge import judge
from stepscope.planning.layout import Layout, Recompute, Schedule
from stepscope.planning.memory.total import MemoryUse, memory
from stepscope.planning.request import Request
from stepscope.planning.result import JudgedPlan
from stepscope.planning.search.space import frameworks, groups, layouts, precisions

#: Share of the memory from which on what recomputes all layers shows that no other recomputation fits either: at the
#: least it keeps one layer's input less, which is less than a fifth of what the layer needs while it works.
HOPELESS: Final = 1.25
#: How much longer than another plan's a tight plan's step is taken to be when both are ranked.
_TIGHT: Final = 1.015


def search(asked: Request, top: int) -> tuple[list[JudgedPlan], int, JudgedPlan | None]:
    """The best plans, how many layouts were looked at, and, if none fits, the one that comes nearest.

    Of a group's layouts with one schedule, which differ in recomputation alone, the first one that fits is the fastest:
    only that is timed. Ties go to fewer stages, then to less tensor parallelism. What is kept in the host's memory
    costs the most time: it is looked at only if nothing fits without it.
    """
    best, looked, nearest = _in_any_precision(asked, top)
    for kept in ("optimizer", "weights") if "offload" not in asked.fixed else ():
        if best:
            break
        best, more, _ = _in_any_precision(replace(asked, fixed={**asked.fixed, "offload": kept}), top)
        looked += more
    return best, looked, None if best else nearest


def _in_any_precision(asked: Request, top: int) -> tuple[list[JudgedPlan], int, JudgedPlan | None]:
    """The best of the first precision in which anything fits: fewer digits change what is trained, not its layout."""
    if "precision" in asked.fixed:
        return _search(asked, top)
    looked, nearest = 0, None
    for precision in precisions(asked):
        best, more, near = _search(replace(asked, fixed={**asked.fixed, "precision": precision}), top)
        looked += more
        nearest = nearest or near
        if best:
            return best, looked, None
    return [], looked, nearest


def _search(asked: Request, top: int) -> tuple[list[JudgedPlan], int, JudgedPlan | None]:
    fitting: list[JudgedPlan] = []
    nearest: tuple[MemoryUse, Layout] | None = None
    looked = 0
    for framework in frameworks(asked):
        for group in groups(asked):
            begun: set[tuple[int, Schedule]] = set()
            done: set[tuple[int, Schedule]] = set()
            for layout in layouts(asked, group, framework):
                kind = (layout.zero, layout.schedule)
                if kind in done:
                    continue
                taken = memory(asked.shape, layout, asked.platform)
                if not taken.fits and kind not in begun and (least := _hopeless(asked, layout)) is not None:
                    layout, taken = least
                    done.add(kind)
                begun.add(kind)
                looked += 1
                if taken.fits:
                    done.add(kind)
                    fitting.append(judge(asked.shape, layout, asked.platform))
                elif nearest is None or taken.device_bytes < nearest[0].device_bytes:
                    nearest = (taken, layout)
    best = heapq.nsmallest(top, fitting, key=_order)
    if best or nearest is None:
        return best, looked, None
    return [], looked, judge(asked.shape, nearest[1], asked.platform)


def _hopeless(asked: Request, layout: Layout) -> tuple[Layout, MemoryUse] | None:
    """The layout with all layers recomputed, if it is so far from fitting that no other recomputation needs a look."""
    if "recompute" in asked.fixed:
        return None
    least = replace(layout, recompute=Recompute.FULL, recomputed_layers=0)
    taken = memory(asked.shape, least, asked.platform)
    return (least, taken) if taken.device_bytes > HOPELESS * taken.usable_bytes else None


def _order(plan: JudgedPlan) -> tuple[float, bool, int, int, int]:
    layout = plan.layout
    # Steps that differ by less than 0.5 % are alike: then what is simpler, and leaves room, comes first; 1.5 % where a
    # plan is tight, whose allocator may have to free and allocate anew.
    alike = round(200 * math.log(max(1, plan.step_ns) * (_TIGHT if plan.memory.tight else 1.0)))
    return alike, plan.memory.tight, layout.pp * layout.virtual_stages, layout.tp, plan.step_ns
