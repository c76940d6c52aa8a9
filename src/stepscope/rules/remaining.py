"""The price that remains of each finding once those above it are fixed, so that no time is counted twice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from heapq import heapify, heappop, heappush
from typing import Final

import numpy as np
from numpy.typing import NDArray

from stepscope.analyses.stepgraph import StepGraph
from stepscope.model.errors import MissingInputError
from stepscope.model.events.change import EVERY_HOST_EVENT, Change
from stepscope.model.intervals import Intervals, distinct
from stepscope.rules.pricing import Priced
from stepscope.signals import Signals

#: Findings beyond so many are worth little and keep their price.
_MOST: Final = 12


def after_others(found: Sequence[Priced], signals: Signals, least: float) -> list[Priced]:
    """Set the remaining price of each finding of a rank once those above it are fixed.

    Args:
        found: Findings of one rank, none of them a symptom of another one.
        signals: The rank's.
        least: Share of the step below which remaining prices are not computed.
    """
    rest = {id(one): one for one in found}
    worth = [one for one in found if _counts(one, least)]
    worth = sorted(worth, key=lambda one: -(one.cost_ns or 0))[:_MOST]
    if len(worth) < 2:
        return list(found)
    try:
        graph = StepGraph.of(signals.whole.trace)
    except MissingInputError:
        return list(found)
    fixed, saved, number = Change(), 0, 0
    # Remaining prices only shrink as others are fixed: only the topmost has to be computed again.
    queue = [(-(one.cost_ns or 0), place, 0) for place, one in enumerate(worth)]
    heapify(queue)
    while queue:
        cost, place, asked = heappop(queue)
        one = worth[place]
        assert one.draft.change is not None
        together = fixed + one.draft.change
        if asked < number:
            prediction = graph.predict(together)
            more = max(prediction.saved_ns - saved, 0) * (one.step_ns or 0) // max(prediction.base_ns, 1)
            heappush(queue, (-min(-cost, more), place, number))
            continue
        rest[id(one)] = replace(one, rest_ns=-cost)
        fixed, saved, number = together, max(graph.predict(together).saved_ns, saved), number + 1
    return list(rest.values())


def _counts(one: Priced, least: float) -> bool:
    return bool(one.draft.change is not None and one.cost_ns and one.step_ns and one.cost_ns >= least * one.step_ns)


def share_events(one: Priced, other: Priced) -> bool:
    """Whether another finding of the rank changes most of the events or host time that this one changes."""
    if one.ranks[:1] != other.ranks[:1] or one.draft.change is None or other.draft.change is None:
        return False
    mine, others = _events(one.draft.change), _events(other.draft.change)
    if mine.size:
        return 2 * int(np.isin(mine, others).sum()) >= mine.size
    time, of_others = _time(one.draft.change), _time(other.draft.change)
    return bool(time.total) and 2 * (time & of_others).total >= time.total


def _time(change: Change) -> Intervals:
    """Stretches of host time that a change affects."""
    return Intervals.union_of_all(Intervals.union_of(one.starts, one.ends) for one in change.time)


def _events(change: Change) -> NDArray[np.int64]:
    parts = [part.events for part in (*change.device, *change.host)]
    every = distinct(np.concatenate([*parts, change.unblocked, change.overlapped]))
    named: NDArray[np.int64] = every[every != EVERY_HOST_EVENT[0]]
    return named
