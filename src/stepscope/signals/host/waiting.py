"""Calls in which host threads wait for the device, and the events around each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from stepscope.analyses.shared.host_waits import SOON_NS, blocking_copies, outermost_waits, synchronising_names
from stepscope.model.categories import CATEGORIES
from stepscope.model.events.columns import Ids, Spans
from stepscope.model.events.copies import DIRECTIONS, Copies
from stepscope.model.events.device_work import DeviceWork
from stepscope.model.trace import Trace

#: The most that one number takes; complex numbers of double precision have 16 bytes.
ONE_NUMBER: Final = 16


@dataclass(frozen=True, slots=True)
class Around:
    """Events around n calls.

    Attributes:
        name: int32[n], `name_id` of each call.
        operators: int32[3, n], those of the events around it, the innermost first; -1 for what is no operator.
        copied: bool[n], whether its thread launched a copy right before it.
        direction: int8[n], of the last that its thread launched: position in `DIRECTIONS`.
        bytes: int64[n], likewise.
        pageable: bool[n], likewise.
    """

    name: NDArray[np.int32]
    operators: NDArray[np.int32]
    copied: NDArray[np.bool_]
    direction: NDArray[np.int8]
    bytes: NDArray[np.int64]
    pageable: NDArray[np.bool_]


def waiting(trace: Trace) -> Ids:
    """Positions in `Spans` of the calls in steps that wait for the device, by start.

    These are the waits of table `synchronisations` without waits for copies of more than a number, which the rules
    about copies cover.
    """
    spans, at = Spans(trace), trace.once(outermost_waits)
    numbers = np.isin(at, spans.rows(DeviceWork.of(trace).launch[_numbers(trace)]))
    calls = np.isin(spans.name[at], synchronising_names(trace))
    chosen: Ids = at[(spans.step[at] >= 0) & (calls | numbers)]
    return chosen


def around(trace: Trace, at: Ids) -> Around:
    """Events around the calls at these positions in `Spans`."""
    spans, work, copies = Spans(trace), DeviceWork.of(trace), Copies.of(trace)
    last = launched_before(trace, at)
    copied = (last >= 0) & work.are("copy")[last] & (work.call_ns[last] >= 0)
    copied &= spans.ts[at] - work.called[last] - work.call_ns[last] <= SOON_NS
    row = copies.rows(last)  # the last place stands for -1
    direction, size = np.append(copies.direction, np.int8(0))[row], np.append(np.maximum(copies.bytes, 0), 0)[row]
    pageable = np.append(copies.pageable, False)[row]
    known = row >= 0
    return Around(spans.name[at], _operators(spans, at), copied, direction * known, size * known, pageable & known)


def launched_before(trace: Trace, at: Ids) -> Ids:
    """Position in `DeviceWork` of the last work that each call's thread launched before it; -1 if none."""
    spans, work = Spans(trace), DeviceWork.of(trace)
    mine = np.flatnonzero(work.launched & ~work.are("sync"))
    mine = mine[np.lexsort((work.called[mine], work.thread[mine]))]
    last = np.full(at.size, -1)
    for track in np.unique(spans.track[at]).tolist():
        its, those = np.flatnonzero(spans.track[at] == track), mine[work.thread[mine] == track]
        place = np.searchsorted(work.called[those], spans.ts[at[its]], side="right") - 1
        last[its[place >= 0]] = those[place[place >= 0]]
    return last


def _numbers(trace: Trace) -> Ids:
    """Positions in `DeviceWork` of copies of a number that keep the host waiting."""
    copies, blocking = Copies.of(trace), blocking_copies(trace)
    row = copies.rows(blocking)  # the last place stands for what is not known of a copy
    small = (copies.direction == DIRECTIONS.index("DtoH")) & (copies.bytes >= 0) & (copies.bytes <= ONE_NUMBER)
    found: Ids = blocking[np.append(small, False)[row]]
    return found


def _operators(spans: Spans, at: NDArray[np.int64]) -> NDArray[np.int32]:
    """`Around.operators`: the three innermost operators identify every kind of call."""
    levels, around = [], at.astype(np.int32)
    for _ in range(3):
        around = np.where(around >= 0, spans.around[around], -1)
        operator = (around >= 0) & (spans.category[around] == CATEGORIES.index("op"))
        levels.append(np.where(operator, spans.name[around], -1))
    return np.stack(levels)
