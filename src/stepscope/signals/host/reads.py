"""Operators and copies whose only purpose is to read a number from the device."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from stepscope.model.categories import CATEGORIES
from stepscope.model.events.columns import Spans
from stepscope.model.events.copies import DIRECTIONS, Copies
from stepscope.model.events.device_work import DeviceWork
from stepscope.model.intervals import Intervals, distinct
from stepscope.signals.host.synchronisation import SCALAR, calls
from stepscope.signals.host.waiting import ONE_NUMBER
from stepscope.signals.shared.host_cost import outermost
from stepscope.signals.shared.operations import Ids
from stepscope.signals.signal import Signals, signal


@dataclass(frozen=True, slots=True, eq=False)
class Reads:
    """Work that is saved if numbers are not read in steps.

    Attributes:
        operators: int64[n], the outermost operators that do nothing but read numbers.
        copies: int64[m], the copies that they launch.
        total_ns: Time of both.
        besides: When the thread with most of the operators is in one of them and in no call that waits.
    """

    operators: Ids
    copies: Ids
    total_ns: int
    besides: Intervals = field(default_factory=Intervals.empty)


@signal()
def number_reads(s: Signals) -> Reads:
    """Operators around the waits for a number that copy the number and do nothing else on the device."""
    spans, work, copies = Spans(s.trace), DeviceWork.of(s.trace), Copies.of(s.trace)
    small = (copies.direction == DIRECTIONS.index("DtoH")) & (copies.bytes >= 0) & (copies.bytes <= ONE_NUMBER)
    numbers = copies.at[small]
    waits = s(calls).of(SCALAR)
    around = spans.around[spans.rows(waits.events)]
    around = distinct(around[around >= 0])
    around = around[spans.category[around] == CATEGORIES.index("op")]
    operators = outermost(s.trace, spans.id[around].astype(np.int64), work.event[numbers])
    operators = distinct(operators[operators >= 0])
    rows = spans.rows(operators)
    starts, ends = spans.ts[rows], spans.ts[rows] + np.maximum(spans.dur[rows], 0)
    inside = np.zeros(numbers.size, np.bool_)
    for thread in np.unique(spans.track[rows]).tolist():
        its = np.flatnonzero(spans.track[rows] == thread)
        its = its[np.argsort(starts[its], kind="stable")]
        at = np.searchsorted(starts[its], work.called[numbers], side="right") - 1
        inside |= (work.thread[numbers] == thread) & (at >= 0) & (work.called[numbers] < ends[its][np.maximum(at, 0)])
    gone = numbers[inside & work.launched[numbers]]
    total = int((ends - starts).sum() + work.dur[gone].sum())
    if not rows.size:
        return Reads(operators, work.event[gone], total)
    mine = spans.track[rows] == np.bincount(spans.track[rows]).argmax()
    reading = Intervals.union_of(starts[mine], ends[mine])
    return Reads(operators, work.event[gone], total, reading - Intervals.union_of(waits.ts, waits.ts + waits.dur))
