"""What a recording holds beside what was to be measured: batches that arrive, compilation, first use of the device."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from stepscope.analyses.idle.host_work import LOADING_NS, first_operators
from stepscope.analyses.shared.device_time import device_times
from stepscope.analyses.shared.host_states import host_states
from stepscope.analyses.shared.host_waits import loader_waits, synchronising_names
from stepscope.analyses.shared.needs import has_device
from stepscope.ingest.inputs import source_of
from stepscope.model.errors import MissingInputError
from stepscope.model.events.columns import Ids, Spans, names_by_id, on_host
from stepscope.model.events.device_work import DeviceWork
from stepscope.model.events.steps import Steps
from stepscope.model.intervals import Intervals
from stepscope.signals.host.compiling import compiling_events
from stepscope.signals.host.outside import outside
from stepscope.signals.shared.job import span_ns
from stepscope.signals.signal import Signals, signal

#: What takes this many times as long as the device's work dwarfs it.
DWARFS: Final = 3.0
#: So many typical steps are a loop, which start-up stands beside.
LOOP: Final = 3
#: A call that is not the first of its name loads or creates something if it takes this many times the usual.
_TIMES: Final = 20
_CALLS: Final = ("runtime", "launch")


@dataclass(frozen=True, slots=True)
class Measured:
    """What was to be measured.

    Attributes:
        ns: Typical steps together; without steps, when any device was busy, or where the host is recorded alone, when
            operators ran there that load no batch.
        recorded_ns: From the first event to the end of the last.
        loop: Whether there are enough typical steps to be judged by themselves.
        chosen: Whether the program chose what is recorded; a profiler of whole processes always has their start.
    """

    ns: int
    recorded_ns: int
    loop: bool
    chosen: bool

    def dwarfed_by(self, ns: int) -> bool:
        """Whether something else takes several times as long, in a recording of what the program chose."""
        return self.chosen and ns >= DWARFS * self.ns


@signal()
def measured(s: Signals) -> Measured:
    """What was to be measured, and how long that took."""
    steps = Steps.of(s.trace)
    typical = int(np.count_nonzero(steps.typical & steps.found))
    length = steps.typical_ns if typical else None
    busy = Intervals.empty()
    if has_device(s.trace):
        for device in s.trace.once(device_times):
            busy = busy | device.busy
    else:
        spans = Spans(s.trace)
        at = np.flatnonzero(spans.of("op") & on_host(s.trace, spans.track) & (spans.dur > 0))
        busy = Intervals.union_of(spans.ts[at], spans.ts[at] + spans.dur[at]) - loading_intervals(s)
    total = busy.total if length is None else length * typical
    return Measured(total, s(span_ns), typical >= LOOP, source_of(s.trace.recordings[s.rank].reader).by_operators)


#: What takes less before the first work is the start of any program.
_START_NS: Final = 100_000_000


@signal("ns")
def untold_start(s: Signals) -> int:
    """Time before the device's first work of which no range or function says what the host does; 0 unless it is most.

    It is half of the recording at least, a tenth of a second, and dwarfs what was to be measured. Waits for batches and
    compilation have names of their own.
    """
    what, before = s(measured), s(outside).before
    ns = (before.found - loading_intervals(s) - compiling_intervals(s)).total
    most = 2 * ns >= what.recorded_ns and ns >= _START_NS and what.dwarfed_by(ns)
    return ns if most and not what.loop and not before.name and not before.parts else 0


@dataclass(frozen=True, slots=True)
class FirstUse:
    """Calls that create the context, load kernels and libraries, or try algorithms, while no device works.

    Attributes:
        total_ns: Their time.
        name: The longest call; empty without any.
        longest_ns: How long it takes.
        count: How many calls.
        events: int64[n], the longest ones.
    """

    total_ns: int
    name: str
    longest_ns: int
    count: int
    events: NDArray[np.int64]


@signal()
def first_use(s: Signals) -> FirstUse:
    """First use of the device and its libraries, over the whole recording."""
    hosts = s.trace.once(host_states)
    if hosts is None:
        raise MissingInputError("the recording has no host threads", hint="record the host as well as the device")
    spans, names = Spans(s.trace), s.trace.once(names_by_id)
    at = _first_calls(s, spans)
    starts, ends = spans.ts[at], spans.ts[at] + spans.dur[at]
    found = Intervals.union_of(starts, ends) | s.trace.once(first_operators)
    found = found - compiling_intervals(s)
    for device in s.trace.once(device_times):
        found = found - device.busy
    if not at.size:
        return FirstUse(found.total, "", 0, 0, at.astype(np.int64))
    order = np.argsort(-spans.dur[at], kind="stable")
    longest = at[order[0]]
    return FirstUse(
        found.total, names[int(spans.name[longest])], int(spans.dur[longest]), int(at.size),
        spans.id[at[order[:20]]].astype(np.int64),
    )  # fmt: skip


def _first_calls(s: Signals, spans: Spans) -> Ids:
    """Positions of long calls that are the first of their name, or launch a kernel for the first time."""
    hosts, work = s.trace.once(host_states), DeviceWork.of(s.trace)
    assert hosts is not None
    every = np.flatnonzero(spans.of(*_CALLS) & np.isin(spans.track, hosts.feeders))
    every = every[np.lexsort((spans.id[every], spans.ts[every]))]
    _, first, index = np.unique(spans.name[every], return_index=True, return_inverse=True)
    usual = np.array([float(np.median(spans.dur[every[index == k]])) for k in range(first.size)])
    launches, fresh = (np.zeros(spans.id.size, np.bool_) for _ in range(2))
    launches[spans.rows(work.launch[work.launched])] = True
    kernels = np.flatnonzero(work.are("compute") & work.launched)
    kernels = kernels[np.lexsort((work.ts[kernels], work.name[kernels]))]
    fresh[spans.rows(work.launch[kernels[np.unique(work.name[kernels], return_index=True)[1]]])] = True
    # A first copy takes as long as its data; a wait, as long as the device.
    once = np.isin(np.arange(every.size), first)
    once &= fresh[every] | ~launches[every]
    once |= fresh[every] & (spans.dur[every] >= _TIMES * usual[index])
    once &= (spans.dur[every] >= LOADING_NS) & ~np.isin(spans.name[every], synchronising_names(s.trace))
    found: Ids = every[once]
    return found


def compiling_intervals(s: Signals) -> Intervals:
    """When any thread compiled code."""
    spans, at = Spans(s.trace), s(compiling_events)
    return Intervals.union_of(spans.ts[at], spans.ts[at] + spans.dur[at])


def loading_intervals(s: Signals) -> Intervals:
    """When the job waited for a batch."""
    spans, at = Spans(s.trace), loader_waits(s.trace)
    return Intervals.union_of(spans.ts[at], spans.ts[at] + np.maximum(spans.dur[at], 0))
