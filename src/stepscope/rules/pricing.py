"""The price of a finding: the time the mean step would save on the rank's dependency graph."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import add
from typing import Final

from stepscope.analyses.stepgraph import StepGraph
from stepscope.model.errors import MissingInputError
from stepscope.model.events.change import Change
from stepscope.rules.inspecting import command
from stepscope.rules.rule import Draft, Registered
from stepscope.signals import Signals
from stepscope.signals.shared.job import step_ns
from stepscope.signals.shared.links import linked

#: A price is not known where the devices alone would save so many times as much.
_UNKNOWN_TIMES: Final = 1.5


@dataclass(frozen=True, slots=True)
class Together:
    """What one remedy saves that cures several findings.

    Attributes:
        saved_ns: Per step.
        codes: The findings' rules.
        text: A sentence that says so.
    """

    saved_ns: int
    codes: tuple[str, ...]
    text: str


@dataclass(frozen=True, slots=True)
class Priced:
    """A draft, its rule, where it was found, and what it costs.

    Attributes:
        registered: The rule.
        draft: What it said.
        ranks: Ranks concerned, the one with the highest price first.
        cost_ns: Per step; None for advice.
        step_ns: Mean length of the typical step, which the cost is a part of; None where the recording has none.
        inspect: Command that looks inside the kernel that it is about; empty if it is about none.
        rest_ns: Remaining cost once the findings above it are fixed; None where that was not computed.
        removed_ns: What the remedy takes away per step, whether the step is shorter by it or something else takes as
            long; None where no change of the graph expresses it.
        together: What its remedy saves with all other findings that it cures; None for all but the first of these.
        explains_ns: What the step would save by the part of the change that other findings may be symptoms of; None
            for all of it.
        unknown: Whether the recording can't tell what the change saves: nothing links device work to the host.
    """

    registered: Registered
    draft: Draft
    ranks: tuple[int, ...]
    cost_ns: int | None
    step_ns: int | None
    inspect: str = ""
    rest_ns: int | None = None
    removed_ns: int | None = None
    together: Together | None = None
    explains_ns: int | None = None
    unknown: bool = False


def priced(registered: Registered, draft: Draft, signals: Signals, least: float = 0.0) -> Priced:
    """Price a draft; one without a change keeps the price that its rule gave it.

    The graph is that of the whole recording, since a step follows the one before it, and its counted steps are some of
    the typical ones: the saving is computed as a share of these, and applied to the typical step. Where calls are not
    linked to what they launched, a draft's own price for that case takes its place.

    Args:
        registered: The rule.
        draft: What it said.
        signals: The rank's.
        least: Share of the step below which a finding is not shown: what can't save more has a price.
    """
    cost, length, removed, explains = draft.cost_ns, signals.maybe(step_ns), None, None
    at_most = None
    if draft.unlinked_ns is not None and signals.maybe(linked) is False:
        # Nor can the graph tell what remains of it once others are fixed.
        cost, draft = draft.unlinked_ns, replace(draft, change=None)
    if draft.change is not None:
        try:
            graph = StepGraph.of(signals.whole.trace)
            prediction = graph.predict(draft.change)
        except MissingInputError:
            pass
        else:
            # What other ranks would gain by the same change is not this finding's price.
            cost = min(max(prediction.saved_ns, 0), prediction.removed_ns)
            if prediction.devices_ns is not None:
                at_most = min(prediction.devices_ns, prediction.removed_ns)
            if length is not None and prediction.base_ns > 0:
                cost, removed = (ns * length // prediction.base_ns for ns in (cost, prediction.removed_ns))
                at_most = None if at_most is None else at_most * length // prediction.base_ns
            if draft.explaining is not None:
                explains = max(graph.predict(draft.explaining).saved_ns, 0)
                if length is not None and prediction.base_ns > 0:
                    explains = explains * length // prediction.base_ns
    if cost is not None:
        limits = [limit for limit in (draft.most_ns, length) if limit is not None]
        cost = min(cost, *limits) if limits else cost
        at_most = None if at_most is None else min(at_most, *limits)
        if at_most is not None and at_most >= max(_UNKNOWN_TIMES * cost, least * (length or 0), 1):
            return _unknown(registered, draft, signals, at_most)
    look = command(registered, draft, signals)
    return Priced(registered, draft, draft.ranks or (signals.rank,), cost, length, look, None, removed, None, explains)


def _unknown(registered: Registered, draft: Draft, signals: Signals, at_most: int) -> Priced:
    """A draft without its price, and without its change, which no graph can tell what remains of."""
    look, draft = command(registered, draft, signals), replace(draft, taken_ns=draft.taken_ns or at_most, change=None)
    ranks, length = draft.ranks or (signals.rank,), signals.maybe(step_ns)
    return Priced(registered, draft, ranks, None, length, look, unknown=True)


def saved_by_all(found: Sequence[Priced], signals: Signals) -> int | None:
    """Joint saving of one rank's findings per step, at most the sum of their prices; None without a graph."""
    try:
        graph = StepGraph.of(signals.whole.trace)
    except MissingInputError:
        return None
    prediction = graph.predict(reduce(add, (one.draft.change or Change() for one in found)))
    length = found[0].step_ns or 0
    saved = max(prediction.saved_ns, 0) * length // max(prediction.base_ns, 1)
    return min(saved, length, sum(one.cost_ns or 0 for one in found))


def over_ranks(found: Sequence[Priced]) -> list[Priced]:
    """Merge each finding over ranks: that of the rank on which it costs most, with all ranks that have it.

    A rank that waits for a late one would only wait longer for what it saves: where the late one has the finding, too,
    it is that of the late one.
    """
    waiting = _waiting(found)
    groups: dict[tuple[str, str], list[Priced]] = {}
    for one in found:
        groups.setdefault((one.registered.rule.code, one.draft.key), []).append(one)
    merged = []
    for same in groups.values():
        # The cost may be unknown on some ranks; a rank's number breaks ties, so that the order is always the same.
        same.sort(key=lambda one: (one.cost_ns is None, waiting.issuperset(one.ranks), -(one.cost_ns or 0), one.ranks))
        ranks = dict.fromkeys(rank for one in same for rank in one.ranks)
        merged.append(replace(same[0], ranks=tuple(ranks)))
    return merged


def _waiting(found: Sequence[Priced]) -> set[int]:
    """Ranks that wait for a late one, and are not late themselves."""
    late = [one for one in found if one.draft.late and one.cost_ns]
    return {rank for one in late for rank in one.ranks} - {rank for one in late for rank in one.draft.late}
