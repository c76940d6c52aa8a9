"""Answer a request: judge the one layout that is meant, or search for the best."""

from __future__ import annotations

from stepscope.planning.judge import judge
from stepscope.planning.layout import check
from stepscope.planning.planned import Planned
from stepscope.planning.reasons import notes, reasons
from stepscope.planning.request import Request, completed
from stepscope.planning.result import JudgedPlan
from stepscope.planning.search.impossible import remedies
from stepscope.planning.search.neighbours import neighbours
from stepscope.planning.search.searching import search
from stepscope.planning.settings import settings


def answer(asked: Request, top: int = 5) -> Planned:
    """The plans for a request.

    Args:
        asked: What is asked.
        top: Plans to give at most.

    Raises:
        UserError: What is fixed can't be built.
    """
    if asked.one_layout:
        layout = completed(asked)
        check(layout, asked.shape.layers, asked.shape.heads, asked.shape.experts, asked.devices)
        plan = _explained(asked, judge(asked.shape, layout, asked.platform))
        lacking = () if plan.memory.fits else remedies(asked, plan)
        return Planned(asked, (plan,), neighbours(asked, plan), 1, lacking, settings=settings(asked.shape, plan))
    found, considered, nearest = search(asked, top)
    if not found and nearest is None:
        _refuse(asked)
    if not found:
        return Planned(asked, (), (), considered, remedies(asked, nearest))
    plans = tuple(_explained(asked, plan) for plan in found)
    return Planned(asked, plans, neighbours(asked, plans[0]), considered, settings=settings(asked.shape, plans[0]))


def _refuse(asked: Request) -> None:
    """Say what keeps every layout from being built, if what is fixed does by itself.

    Raises:
        UserError: It does.
    """
    check(completed(asked), asked.shape.layers, asked.shape.heads, asked.shape.experts, asked.devices)


def _explained(asked: Request, plan: JudgedPlan) -> JudgedPlan:
    return plan.explained(reasons(asked.shape, plan, asked.platform), notes(asked.shape, plan, asked.platform))
