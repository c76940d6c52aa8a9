"""Which operators take the time of a program that no device is seen of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from stepscope.model.errors import MissingInputError
from stepscope.model.events.columns import Spans, names_by_id, on_host
from stepscope.model.intervals import Intervals
from stepscope.signals.host.ran_on import own_times, ran_on
from stepscope.signals.shared.job import span_ns
from stepscope.signals.signal import Signals, signal

#: Operators that only hold others take next to nothing by themselves.
_NAMED: Final = 3


@dataclass(frozen=True, slots=True)
class OwnOperators:
    """Operators on the host's threads, in a recording without a device.

    Attributes:
        recorded_ns: From the first event to the end of the last.
        running_ns: Time in which any of them runs.
        own_ns: Their own times, of all threads together.
        foremost: Those with the most time by themselves, with that time, ns.
        number: How many calls of these there are.
        events: int64[n], calls of the foremost one, the longest first.
        sure: Whether it is known that the processor computes them; else a device might, which nothing shows.
    """

    recorded_ns: int
    running_ns: int
    own_ns: int
    foremost: tuple[tuple[str, int], ...]
    number: int
    events: NDArray[np.int64]
    sure: bool


@signal()
def own_operators(s: Signals) -> OwnOperators:
    """Operators with the most time of their own, where no device is seen, and none is named that could be meant."""
    where = s(ran_on)
    if where.where not in ("cpu", "unknown") or where.listed:
        raise MissingInputError("work was given to a device, or the recording names one")
    spans, names = Spans(s.trace), s.trace.once(names_by_id)
    ops = np.flatnonzero(spans.of("op") & on_host(s.trace, spans.track))
    own, name = own_times(spans)[ops], spans.name[ops]
    totals = np.bincount(name, own)
    order = np.argsort(-totals, kind="stable")[:_NAMED]
    first = ops[name == order[0]]
    ts = spans.ts[ops]
    running = Intervals.union_of(ts, ts + np.maximum(spans.dur[ops], 0))
    return OwnOperators(
        s(span_ns), running.total, int(own.sum()),
        tuple((names[int(one)], int(totals[one])) for one in order.tolist() if totals[one] > 0),
        int(np.isin(name, order).sum()), spans.id[first[np.argsort(-spans.dur[first], kind="stable")]].astype(np.int64),
        where.where == "cpu" and where.sure,
    )  # fmt: skip
