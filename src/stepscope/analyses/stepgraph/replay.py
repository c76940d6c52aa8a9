"""Replay a graph: every node starts as soon as all that it depends on allows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import islice, pairwise

import numpy as np
from numpy.typing import NDArray

from stepscope.analyses.stepgraph.lateness import MOST
from stepscope.analyses.stepgraph.plan import Plan
from stepscope.model.intervals import Times

More = tuple[tuple[int, int], ...]
Late = Mapping[int, tuple[More, int, int, int]]


@dataclass(frozen=True, slots=True)
class Timing:
    """Sources and times of a graph to be replayed.

    Attributes:
        on: int64[m], node that each edge comes from; always before the one that it leads to.
        lag: int64[m], time of each edge.
        took: int64[n], how long each node takes.
        late: By node of a collective, when other ranks come to it, as in `Lateness`: the edges that tell when this
            rank's part is ready (node and time), the lag of the others, the node at which all were last together, and
            the time since then in the recording.
        most: By how much lags of other ranks may grow.
    """

    on: NDArray[np.int64]
    lag: Times
    took: Times
    late: Late
    most: int = MOST


def replay(origin: int, plan: Plan, times: Timing) -> Times:
    """End of each node, int64[n], if node 0 ends at `origin`."""
    distance, took = plan.distance(times.lag, times.took), times.took[plan.node]

    def come(edges: NDArray[np.int64]) -> tuple[NDArray[np.int64], Times]:
        """Place that edges come from, and the delay after its end at which they let a node start."""
        on = times.on[edges]
        return plan.place[on], times.lag[edges] + distance[on]

    (one, wait), (other, least), (rest, lag) = come(plan.first), come(plan.second), come(plan.further)
    columns = (one, wait + took, other, least + took)
    rows = zip(*(column.tolist() for column in columns), strict=True)
    further = list(zip(rest.tolist(), lag.tolist(), strict=True))
    several = dict(zip(plan.several.tolist(), pairwise((0, *plan.until.tolist())), strict=True))
    late = {int(plan.place[node]): _placed(plan, distance, when) for node, when in times.late.items()}
    ends = [origin]
    for place in sorted({*several, *late}):
        _go_on(ends, islice(rows, place + 1 - len(ends)))
        own, (low, high) = int(took[place - 1]), several.get(place, (0, 0))
        starts = [ends[before] + lag for before, lag in further[low:high]]
        if place in late:
            starts.append(_arrival(ends, times.most, *late[place]))
        ends[place] = max(ends[place], max(starts) + own)
    _go_on(ends, rows)
    return np.array(ends, np.int64)[plan.place] + distance


def _go_on(ends: list[int], rows: Iterable[tuple[int, int, int, int]]) -> None:
    """Append the ends of nodes with two edges each, from their sources and the delays from there to their own end."""
    add = ends.append
    for one, wait, other, least in rows:
        end, rival = ends[one] + wait, ends[other] + least
        add(end if end > rival else rival)


def _placed(plan: Plan, distance: Times, late: tuple[More, int, int, int]) -> tuple[More, int, int, int]:
    """The lateness of other ranks with places instead of nodes; followers are never where ranks were last together."""
    part, lag, together, apart = late
    part = tuple((int(plan.place[before]), wait + int(distance[before])) for before, wait in part)
    return part, lag, int(plan.place[together]), apart


def _arrival(ends: list[int], most: int, part: More, lag: int, together: int, apart: int) -> int:
    """When the last of the other ranks arrives at a collective."""
    ready = max([ends[before] + wait for before, wait in part])
    if not apart:
        return ready + lag
    return ready + min(lag * max(ready - ends[together], 0) // apart, most * lag)
