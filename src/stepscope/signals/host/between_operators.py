"""Host time between operators, in recordings of programs that no device is seen of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from stepscope.analyses.shared.host_states import host_states
from stepscope.analyses.steps.phase_names import phase_of
from stepscope.model.errors import MissingInputError
from stepscope.model.events.columns import Spans, names_by_id, on_host
from stepscope.model.events.steps import Steps
from stepscope.model.intervals import Intervals
from stepscope.signals.host.compiling import compiling_events
from stepscope.signals.host.one_time import loading_intervals
from stepscope.signals.host.own_work import Doing, asking, told
from stepscope.signals.host.profiler_cost import own_calls
from stepscope.signals.host.waits_for_others import Awaited, awaited
from stepscope.signals.shared import host_collectives
from stepscope.signals.shared.ran_on import ran_on, slow_reads
from stepscope.signals.signal import Signals, signal

_PASSES: Final = ("forward", "backward", "optimizer", "recomputation", "prefill", "decode", "mixed", "denoise")
#: From this share of the time on ranks exchange data in it, or of that each with one other.
_MOSTLY: Final = 0.5
#: What is shorter is Python between two operators.
_LEAST_NS: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class BetweenOperators:
    """Stretches of a millisecond and more in which no thread is in an operator.

    Attributes:
        doing: The stretches, and what the main thread does in them.
        length_ns: Length of the complete steps together, or of the recording where there are none.
        steps: Number of those steps; 0 without.
        device: Whether the recording names a device, and nothing tells that operators ran on the processor.
        exchange: Share of the stretches in which ranks exchange data through the host.
        pairs: Share of that in which one rank sends to another.
        awaits: What the main thread waits for in most of them.
    """

    doing: Doing
    length_ns: int
    steps: int
    device: bool = False
    exchange: float = 0.0
    pairs: float = 0.0
    awaits: Awaited = ""

    @property
    def exchanges(self) -> bool:
        """Whether most of them are what ranks exchange."""
        return self.exchange >= _MOSTLY

    @property
    def in_pairs(self) -> bool:
        """Whether most of what ranks exchange goes from one to another, as between stages of a pipeline."""
        return self.exchanges and self.pairs >= _MOSTLY


def _passes(s: Signals) -> Intervals:
    """Ranges that the program names as passes of its model, whose operators may run in threads without a record."""
    spans, names = Spans(s.trace), s.trace.once(names_by_id)
    passes = [name_id for name_id, name in names.items() if phase_of(name) in _PASSES]
    at = np.flatnonzero(spans.of("annotation") & np.isin(spans.name, passes) & on_host(s.trace, spans.track))
    return Intervals.union_of(spans.ts[at], spans.ts[at] + np.maximum(spans.dur[at], 0))


@signal()
def between_operators(s: Signals) -> BetweenOperators:
    """Such stretches in complete steps, or in the whole recording.

    Waits for batches, compiling, the profiler's own functions and ranges named as passes of the model are no part of
    them. Where work was given to a
    device that is not recorded, or reads wait as for one, they may be waits for it: nothing is known then.
    """
    ran = s(ran_on)
    if ran.where not in ("cpu", "unknown") or s(slow_reads).waited:
        raise MissingInputError("what the device does is not recorded", hint="record the device as well as the host")
    hosts, spans = s.trace.once(host_states), Spans(s.trace)
    if hosts is None:
        raise MissingInputError.of("operators")
    ops = np.flatnonzero(spans.of("op") & on_host(s.trace, spans.track) & (spans.dur > 0))
    ops = ops[~np.isin(spans.name[ops], s(host_collectives.holding))]
    every = Steps.of(s.trace)
    inner = every.whole & every.found
    window = Intervals.union_of(every.ts[inner], every.stop[inner]) if inner.any() else hosts.recorded
    compiling = s(compiling_events)
    taken = (
        Intervals.union_of(spans.ts[ops], spans.ts[ops] + spans.dur[ops])
        | Intervals.union_of(spans.ts[compiling], spans.ts[compiling] + spans.dur[compiling])
        | loading_intervals(s)
        | _passes(s)
        | asking(s)
        | own_calls(s, hosts.feeders[0])
    )
    found = window - taken
    long = found.ends - found.starts >= _LEAST_NS
    doing = told(s, Intervals(found.starts[long], found.ends[long]))
    named = bool(ran.listed) and ran.where != "cpu"
    exchanged = s(host_collectives.on_host)
    exchanges, of_pairs = (
        doing.found & Intervals.union_of(exchanged.ts[some], exchanged.ts[some] + np.maximum(exchanged.dur[some], 0))
        for some in (slice(None), exchanged.pair)
    )
    return BetweenOperators(
        doing, window.total, int(np.count_nonzero(inner)), named, exchanges.total / max(doing.found.total, 1),
        of_pairs.total / max(exchanges.total, 1), awaited(s, doing, hosts.feeders[0]),
    )  # fmt: skip
