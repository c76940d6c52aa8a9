"""Which operators take the time of a program that no device is seen of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from stepscope.model.errors import MissingInputError
from stepscope.model.events.columns import Spans, names_by_id, on_host
from stepscope.model.events.steps import Steps
from stepscope.model.intervals import Intervals
from stepscope.signals.host.compiling import compiling_events
from stepscope.signals.host.ran_on import own_times, ran_on
from stepscope.signals.shared.job import span_ns
from stepscope.signals.signal import Signals, signal

#: Operators that only hold others take next to nothing by themselves.
_NAMED: Final = 3
#: A call that takes less does so whatever it computes: PyTorch needs some microseconds to call any operator.
SHORT_NS: Final = 20_000


@dataclass(frozen=True, slots=True)
class OwnOperators:
    """Operators on the host's threads, in a recording without a device.

    Attributes:
        recorded_ns: From the first event to the end of the last; where steps are known, the time of all complete ones.
        in_steps: Whether it is the time of steps, as what follows is.
        running_ns: Time in which any of them runs.
        own_ns: Their own times, of all threads together.
        foremost: Those with the most time by themselves, with that time, ns.
        number: How many calls of these there are.
        short_ns: Own time of the calls that take less than `SHORT_NS`.
        events: int64[n], calls of the foremost one, the longest first.
        sure: Whether it is known that the processor computes them; else a device might, which nothing shows.
    """

    recorded_ns: int
    in_steps: bool
    running_ns: int
    own_ns: int
    foremost: tuple[tuple[str, int], ...]
    number: int
    short_ns: int
    events: NDArray[np.int64]
    sure: bool


@signal()
def own_operators(s: Signals) -> OwnOperators:
    """Operators with the most time of their own, where no device is seen, and none is named that could be meant."""
    where = s(ran_on)
    if where.where not in ("cpu", "unknown") or where.listed:
        raise MissingInputError("work was given to a device, or the recording names one")
    spans, names = Spans(s.trace), s.trace.once(names_by_id)
    steps = Steps.of(s.trace)
    inner = steps.whole & steps.found
    window = Intervals.union_of(steps.ts[inner], steps.stop[inner])
    chosen = spans.of("op") & on_host(s.trace, spans.track)
    if window.total:
        chosen &= window.at(spans.ts)
    compiling = _compiling(s, spans)
    chosen &= ~compiling.at(spans.ts)
    ops = np.flatnonzero(chosen)
    if not ops.size:
        raise MissingInputError.of("operators")
    own, name = own_times(spans)[ops], spans.name[ops]
    totals = np.bincount(name, own)
    order = np.argsort(-totals, kind="stable")[:_NAMED]
    first = ops[name == order[0]]
    ts = spans.ts[ops]
    running = Intervals.union_of(ts, ts + np.maximum(spans.dur[ops], 0)) - compiling
    if window.total:
        running &= window
    return OwnOperators(
        window.total or s(span_ns), window.total > 0, running.total, int(own.sum()),
        tuple((names[int(one)], int(totals[one])) for one in order.tolist() if totals[one] > 0),
        int(np.isin(name, order).sum()), int(own[own < SHORT_NS].sum()),
        spans.id[first[np.argsort(-spans.dur[first], kind="stable")]].astype(np.int64),
        where.where == "cpu" and where.sure,
    )  # fmt: skip


def _compiling(s: Signals, spans: Spans) -> Intervals:
    """When code is compiled: what runs then is no operator of the model, whatever it is recorded as."""
    at = s(compiling_events)
    return Intervals.union_of(spans.ts[at], spans.ts[at] + spans.dur[at])
