"""Calls of host threads that keep them waiting for the device, and what surrounds each of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from stepscope.analyses.shared.runtime_calls import blocking_names, held_up, synchronising_names
from stepscope.model.categories import CATEGORIES
from stepscope.model.events.columns import Ids, Spans, on_host
from stepscope.model.events.device_work import DIRECTIONS, Copies, DeviceWork
from stepscope.model.trace import Trace

#: Where no operators are recorded, a wait this soon after the launch of a copy is the end of a blocking copy.
SOON_NS: Final = 50_000
#: The most that one number takes; complex numbers of double precision have 16 bytes.
ONE_NUMBER: Final = 16


@dataclass(frozen=True, slots=True)
class Around:
    """What surrounds n calls.

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
    """Positions in `Spans` of the calls that wait, by begin.

    Those that lie in another one are the same wait, and those in the profiler's work are its own.
    """
    spans, calls = Spans(trace), _candidates(trace)
    at = np.flatnonzero(calls)
    outer = spans.around[at]
    at = at[(outer < 0) | ~(calls[outer] | (spans.category[outer] == CATEGORIES.index("overhead")))]
    ordered: Ids = at[np.lexsort((spans.id[at], spans.ts[at]))]
    return ordered


def around(trace: Trace, at: Ids) -> Around:
    """What surrounds calls at these positions in `Spans`."""
    spans, work, copies = Spans(trace), DeviceWork.of(trace), Copies.of(trace)
    last = _launched_before(trace, at)
    copied = (last >= 0) & work.are("copy")[last] & (work.call_ns[last] >= 0)
    copied &= spans.ts[at] - work.called[last] - work.call_ns[last] <= SOON_NS
    row = copies.rows(last)  # the last place stands for -1
    direction, size = np.append(copies.direction, np.int8(0))[row], np.append(np.maximum(copies.bytes, 0), 0)[row]
    pageable = np.append(copies.pageable, False)[row]
    known = row >= 0
    return Around(spans.name[at], _operators(spans, at), copied, direction * known, size * known, pageable & known)


def _launched_before(trace: Trace, at: Ids) -> Ids:
    """Position in `DeviceWork` of what each call's thread launched last before it; -1 if there is nothing."""
    spans, work = Spans(trace), DeviceWork.of(trace)
    mine = np.flatnonzero(work.launched & ~work.are("sync"))
    mine = mine[np.lexsort((work.called[mine], work.thread[mine]))]
    last = np.full(at.size, -1)
    for track in np.unique(spans.track[at]).tolist():
        its, those = np.flatnonzero(spans.track[at] == track), mine[work.thread[mine] == track]
        place = np.searchsorted(work.called[those], spans.ts[at[its]], side="right") - 1
        last[its[place >= 0]] = those[place[place >= 0]]
    return last


def _candidates(trace: Trace) -> NDArray[np.bool_]:
    """Whether events are calls of host threads in steps that wait, or that copy a number and wait for it."""
    spans, work, copies = Spans(trace), DeviceWork.of(trace), Copies.of(trace)
    calls = np.flatnonzero(spans.of("sync", "runtime") & np.isin(spans.name, synchronising_names(trace)))
    small = (copies.direction == DIRECTIONS.index("DtoH")) & (copies.bytes >= 0) & (copies.bytes <= ONE_NUMBER)
    small &= (work.are("copy") & work.launched)[copies.at]
    number, pageable = copies.at[small], copies.pageable[small]
    rows = spans.rows(work.launch[number])
    returned = work.called[number] + np.maximum(work.call_ns[number], 0)
    waited = pageable | np.isin(spans.name[rows], blocking_names(trace))
    waited &= held_up(returned, work.ts[number], work.ts[number] + work.dur[number])
    calls = np.append(calls, rows[waited])
    found = np.zeros(spans.id.size, np.bool_)
    found[calls[on_host(trace, spans.track[calls]) & (spans.step[calls] >= 0)]] = True
    return found


def _operators(spans: Spans, at: NDArray[np.int64]) -> NDArray[np.int32]:
    """`Around.operators`: three around a call tell all kinds of them apart."""
    levels, around = [], at.astype(np.int32)
    for _ in range(3):
        around = np.where(around >= 0, spans.around[around], -1)
        operator = (around >= 0) & (spans.category[around] == CATEGORIES.index("op"))
        levels.append(np.where(operator, spans.name[around], -1))
    return np.stack(levels)
