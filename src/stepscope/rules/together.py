"""What one remedy saves that cures several findings: each has a price of its own, but one action does for all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from stepscope.language import listing, said
from stepscope.model.amounts import duration, percent
from stepscope.rules.pricing import Priced, Together, saved_by_all
from stepscope.rules.wording import without_steps
from stepscope.signals import Signals
from stepscope.signals.shared.job import stepless
from stepscope.signals.shared.program import program

#: Remedies for the whole program, by their page, and what carrying one out is called.
_WHOLE: Final = {"torch-compile": said("Compiling the model")}
#: The same in a program that is compiled already, by something else or not all of it.
_OTHERWISE: Final = {"torch-compile": said("Compiling with Inductor")}


def cured_together(found: Sequence[Priced], signals: Signals, least: float) -> list[Priced]:
    """Add to the first of several findings that one remedy cures the saving of that remedy.

    Args:
        found: Findings of one rank, none of them a symptom of another one, with what remains of each after others.
        signals: The rank's.
        least: Share of the step below which a finding does not count.
    """
    told, ran = {id(one): one for one in found}, signals.maybe(program)
    for page, doing in (_OTHERWISE if ran is not None and ran.compiled else _WHOLE).items():
        mine = [one for one in found if _counts(one, least) and any(act.page == page for act in one.draft.actions)]
        mine.sort(key=lambda one: -_left(one))
        saved = saved_by_all(mine, signals) if len(mine) > 1 else None
        if saved is not None and saved > _left(mine[0]):
            told[id(mine[0])] = replace(mine[0], together=_told(doing, mine, saved, signals))
    return [told[id(one)] for one in found]


def _left(one: Priced) -> int:
    return one.cost_ns or 0 if one.rest_ns is None else one.rest_ns


def _counts(one: Priced, least: float) -> bool:
    """Whether a finding is worth naming: less than half of what others repeat remains."""
    worth = max(least * (one.step_ns or 0), (one.cost_ns or 0) / 2, 1)
    return bool(one.draft.change is not None and one.step_ns and _left(one) >= worth)


def _told(doing: str, mine: Sequence[Priced], saved: int, signals: Signals) -> Together:
    others = listing((said("“{title}”", title=one.draft.title) for one in mine[1:]), " and ")
    share = percent(saved / (mine[0].step_ns or 1))
    text = said(
        "{doing}, before anything else, cures this and {others}: {saved} per step, {share}, in all.",
        doing=doing, others=others, saved=duration(saved), share=share,
    )  # fmt: skip
    codes = tuple(one.registered.rule.code for one in mine)
    return Together(saved, codes, without_steps(text) if signals.maybe(stepless) else text)
