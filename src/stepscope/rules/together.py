"""What one remedy saves that cures several findings: each has a price of its own, but one action does for all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from operator import add
from typing import Final

from stepscope.analyses.stepgraph import StepGraph
from stepscope.model.amounts import duration, percent
from stepscope.model.errors import MissingInputError
from stepscope.model.events.change import Change
from stepscope.rules.pricing import Priced, Together
from stepscope.rules.wording import without_steps
from stepscope.signals import Signals
from stepscope.signals.shared.job import stepless

#: Remedies for the whole program, by their page, and what carrying one out is called.
_WHOLE: Final = {"torch-compile": "Compiling the model"}


def cured_together(found: Sequence[Priced], signals: Signals, least: float) -> list[Priced]:
    """Tell the first of several findings that one remedy cures what that saves in all.

    Args:
        found: Findings of one rank, none of them a symptom of another one, with what remains of each after others.
        signals: The rank's.
        least: Share of the step below which a finding does not count.
    """
    told = {id(one): one for one in found}
    for page, doing in _WHOLE.items():
        mine = [one for one in found if _counts(one, least) and any(act.page == page for act in one.draft.actions)]
        mine.sort(key=lambda one: -_left(one))
        saved = _saved(mine, signals) if len(mine) > 1 else None
        if saved is not None and saved > _left(mine[0]):
            told[id(mine[0])] = replace(mine[0], together=_told(doing, mine, saved, signals))
    return [told[id(one)] for one in found]


def _left(one: Priced) -> int:
    return one.cost_ns or 0 if one.rest_ns is None else one.rest_ns


def _counts(one: Priced, least: float) -> bool:
    """Whether it is worth naming: of what others repeat less than half remains."""
    worth = max(least * (one.step_ns or 0), (one.cost_ns or 0) / 2, 1)
    return bool(one.draft.change is not None and one.step_ns and _left(one) >= worth)


def _saved(mine: Sequence[Priced], signals: Signals) -> int | None:
    """What all of them save of a step, which is not more than the sum of their prices."""
    try:
        graph = StepGraph.of(signals.whole.trace)
    except MissingInputError:
        return None
    prediction = graph.predict(reduce(add, (one.draft.change or Change() for one in mine)))
    length = mine[0].step_ns or 0
    saved = max(prediction.saved_ns, 0) * length // max(prediction.base_ns, 1)
    return min(saved, length, sum(one.cost_ns or 0 for one in mine))


def _told(doing: str, mine: Sequence[Priced], saved: int, signals: Signals) -> Together:
    others = " and ".join(f"“{one.draft.title}”" for one in mine[1:])
    share = percent(saved / (mine[0].step_ns or 1))
    text = f"{doing} cures this and {others}: {duration(saved)} per step, {share}, in all."
    codes = tuple(one.registered.rule.code for one in mine)
    return Together(saved, codes, without_steps(text) if signals.maybe(stepless) else text)
