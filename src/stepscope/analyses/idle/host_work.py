"""Host work other than dispatching, and waits for work that is not in the recording.

Launching a step's work takes many calls, microseconds apart. Milliseconds without a call of the device runtime are work
of the program itself: preprocessing, reading, bookkeeping, checking results. A call of MPI counts as such work however
short it is.
"""

from __future__ import annotations

import re
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from stepscope.analyses.shared.device_time import device_times
from stepscope.analyses.shared.host_states import HostStates, host_states
from stepscope.analyses.shared.host_waits import synchronising_names
from stepscope.model.events.columns import Spans, names_by_id
from stepscope.model.events.copies import Copies
from stepscope.model.events.device_work import DeviceWork
from stepscope.model.events.firsts import firsts
from stepscope.model.intervals import Intervals, Times, ascending, distinct
from stepscope.model.runtime_names import SCALAR_READ
from stepscope.model.trace import Trace

#: No launch is prepared for longer than this many usual times between two launches, within the bounds below: a
#: profiled operator with its Python takes 20 to 500 µs.
_LAUNCHES: Final = 20
_LEAST_NS, _MOST_NS = 1_000_000, 5_000_000
#: A wait for a device that has nothing to do returns within microseconds; one that takes longer waits for work that
#: the recording lacks.
UNSEEN_NS: Final = 1_000_000
#: A call that takes longer, and is the first of its name, loads or creates what later ones find.
LOADING_NS: Final = 1_000_000
#: The first of so many operators of a name takes this many times as long as the others if it did that.
_LATER, _FIRST_TIMES = 4, 20
#: The same of an operator in which the profiler marks that the driver loads code, and these marks (CUPTI's).
_LOADED_TIMES: Final = 4
_CODE_LOADING: Final = re.compile(r"(function|module) loading", re.IGNORECASE)
#: Exchanges between processes, in C, Fortran and Python: `mpi:MPI_Allreduce`, `MPI_Wait`.
MPI_CALL: Final = re.compile(r"(mpi:)?P?MPI_(?!Init|Finalize|Comm_|Wtime)", re.ASCII)
_CALLS: Final = ("runtime", "launch", "sync", "queue")
#: Operators in which the host waits for the device, whether or not the call that waits is recorded.
_WAITING: Final = ("aten::copy_", SCALAR_READ)


def longest_dispatch_ns(trace: Trace) -> int:
    """Longest time without a runtime call that still counts as preparing a launch, ns; ask for it with `Trace.once`."""
    work = DeviceWork.of(trace)
    mine = np.flatnonzero(work.launched & ~work.are("sync"))
    first = mine[firsts(work.launch[mine])]
    thread, called = work.thread[first], work.called[first]
    order = ascending(called)
    order = order[ascending(thread[order])]
    apart = np.diff(called[order])[np.diff(thread[order]) == 0]
    usual = int(np.median(apart)) if apart.size else 0
    return min(max(_LAUNCHES * usual, _LEAST_NS), _MOST_NS)


def host_work(trace: Trace) -> Intervals:
    """Long stretches in which no feeding thread called the device runtime; ask for it with `Trace.once`.

    Empty where the launches of at least half of the device work are not recorded. Pages that migrate have none.
    """
    hosts, work, copies = trace.once(host_states), DeviceWork.of(trace), Copies.of(trace)
    real = ~work.are("sync")
    real[copies.at[copies.managed]] &= work.launched[copies.at[copies.managed]]
    if hosts is None or 2 * np.count_nonzero(work.launched & real) < np.count_nonzero(real):
        return Intervals.empty()
    spans = Spans(trace)
    calls = np.flatnonzero(spans.of(*_CALLS))
    calls = calls[np.isin(spans.track[calls], hosts.feeders)]
    if not calls.size:
        return Intervals.empty()
    ts, least = spans.ts[calls], trace.once(longest_dispatch_ns)
    messages, ends = _messages(trace, hosts), ts + np.maximum(spans.dur[calls], 1)
    lo, hi = int(hosts.recorded.starts[0]), int(hosts.recorded.ends[-1])
    # Of a message the shortest time without a call counts; nearly all are short.
    quiet = between(ts, ends, lo, hi, 1 if len(messages) else least) - _unseen_calls(trace, hosts)
    long = quiet.ends - quiet.starts >= least
    found = Intervals(quiet.starts[long], quiet.ends[long]) | (quiet & messages)
    return found - trace.once(first_operators)


def between(starts: Times, ends: Times, lo: int, hi: int, least: int) -> Intervals:
    """The times of [lo, hi) of at least `least` ns, one or more, that none of n intervals covers, none of them empty.

    Few of millions are long: the others are neither kept nor complemented.
    """
    starts, ends = np.sort(starts), np.sort(ends)
    # i starts precede the i-th one. If i ends do too, nothing is open there.
    at = np.flatnonzero(starts[1:] - ends[:-1] >= least)
    heads = np.maximum(np.concatenate(([lo], ends[at], ends[-1:])), lo)
    tails = np.minimum(np.concatenate((starts[:1], starts[at + 1], [hi])), hi)
    long = tails - heads >= least
    return Intervals(heads[long], tails[long])


def _unseen_calls(trace: Trace, hosts: HostStates) -> Intervals:
    """Operators that copy or read a number, where the recording has no calls of the runtime in which they wait.

    Level 0 of torch_npu leaves out all calls of CANN: a copy then looks like milliseconds without any.
    """
    spans = Spans(trace)
    if np.isin(spans.track[spans.of("runtime", "sync")], hosts.feeders).any():
        return Intervals.empty()
    waiting = [name_id for name_id, name in trace.once(names_by_id).items() if name in _WAITING]
    at = np.flatnonzero(spans.of("op") & np.isin(spans.name, waiting) & (spans.dur > 0))
    return Intervals.union_of(spans.ts[at], spans.ts[at] + spans.dur[at])


def _messages(trace: Trace, hosts: HostStates) -> Intervals:
    """Calls of MPI, which neither launch work nor prepare launches, however short they are."""
    spans, names = Spans(trace), trace.once(names_by_id)
    calls = [name_id for name_id, name in names.items() if MPI_CALL.match(name)]
    if not calls:
        return Intervals.empty()
    at = np.flatnonzero(np.isin(spans.name, calls) & (spans.dur > 0) & np.isin(spans.track, hosts.feeders))
    return Intervals.union_of(spans.ts[at], spans.ts[at] + spans.dur[at])


def first_calls(trace: Trace) -> Intervals:
    """Long runtime calls that are the first of their name: they create the context or load code.

    Ask for it with `Trace.once`. Launch calls are recognised by their kernels instead.
    """
    hosts = trace.once(host_states)
    if hosts is None:
        return Intervals.empty()
    spans = Spans(trace)
    calls = np.flatnonzero(spans.of("runtime"))
    calls = calls[np.isin(spans.track[calls], hosts.feeders)]
    calls = calls[np.isin(spans.name[calls], distinct(spans.name[calls[spans.dur[calls] >= LOADING_NS]]))]
    calls = calls[np.lexsort((spans.id[calls], spans.ts[calls]))]
    first = calls[np.unique(spans.name[calls], return_index=True)[1]]
    first = first[spans.dur[first] >= LOADING_NS]
    return Intervals.union_of(spans.ts[first], spans.ts[first] + spans.dur[first]) | trace.once(first_operators)


def first_operators(trace: Trace) -> Intervals:
    """Operators that launch kernels, are the first of their name and take many times as long as later ones.

    They load a library, create its handle or try its algorithms. An operator that is long because of its input's size
    takes that time again, and is left out. A later one counts, too, if the profiler saw code being loaded in it: a new
    size takes a new kernel. Ask for it with `Trace.once`.
    """
    spans, work = Spans(trace), DeviceWork.of(trace)
    op = spans.of("op")
    long = distinct(spans.name[np.flatnonzero(op & (spans.dur >= LOADING_NS))])
    if not long.size:
        return Intervals.empty()
    chosen = np.zeros(int(spans.name.max()) + 1, np.bool_)
    chosen[long] = True
    ops = np.flatnonzero(op & chosen[spans.name])
    ops = ops[np.isin(spans.id[ops], work.op[work.are("compute") & work.launched])]
    ops = ops[np.lexsort((spans.ts[ops], spans.name[ops]))]
    marks = _code_loading(spans)
    starts, ends = [], []
    for same in np.split(ops, np.flatnonzero(np.diff(spans.name[ops])) + 1):
        if not same.size:
            continue
        took, usual = spans.dur[same], float(np.median(spans.dur[same]))
        first = np.arange(same.size) == 0
        loads = _loading_in(marks, spans, same) & (first | (took >= _LOADED_TIMES * usual))
        if same.size >= _LATER:
            loads |= first & (took >= _FIRST_TIMES * float(np.median(took[1:])))
        loads &= took >= LOADING_NS
        starts.extend(spans.ts[same[loads]].tolist())
        ends.extend((spans.ts[same[loads]] + took[loads]).tolist())
    return Intervals.union_of(np.array(starts, np.int64), np.array(ends, np.int64))


def _code_loading(spans: Spans) -> NDArray[Any]:
    """When the profiler marked that the driver loads code, ascending."""
    names = [name_id for name_id, name in spans.trace.once(names_by_id).items() if _CODE_LOADING.search(name)]
    return np.sort(spans.ts[spans.of("overhead") & np.isin(spans.name, names)]) if names else np.zeros(0, np.int64)


def _loading_in(marks: NDArray[Any], spans: Spans, events: NDArray[Any]) -> NDArray[np.bool_]:
    """Whether any of these marks is within each event."""
    starts = spans.ts[events]
    held: NDArray[np.bool_] = np.searchsorted(marks, starts + spans.dur[events]) > np.searchsorted(marks, starts)
    return held


def unseen_work(trace: Trace) -> Intervals:
    """When a feeding thread waited for devices on which no activity is recorded.

    Ask for it with `Trace.once`. The kernels of a batch launched before the recording are not in it, but the host's
    wait for them is. Short waits and times with device activity are left out.
    """
    hosts = trace.once(host_states)
    if hosts is None:
        return Intervals.empty()
    spans, work = Spans(trace), DeviceWork.of(trace)
    waits = np.flatnonzero(spans.of("sync", "runtime") & (spans.dur >= UNSEEN_NS))
    waits = waits[np.isin(spans.name[waits], synchronising_names(trace)) & np.isin(spans.track[waits], hosts.feeders)]
    # A copy that was asked for has nothing to wait for but earlier work. The first call of all makes the context.
    late = np.flatnonzero(work.are("copy") & (work.call_ns >= UNSEEN_NS))
    earliest = int(work.called[work.launched].min(initial=np.iinfo(np.int64).max))
    late = late[np.isin(work.thread[late], hosts.feeders) & (work.called[late] > earliest)]
    starts = np.append(spans.ts[waits], work.called[late])
    ends = np.append(
        spans.ts[waits] + spans.dur[waits], np.minimum(work.called[late] + work.call_ns[late], work.ts[late])
    )
    found = Intervals.union_of(starts, ends)
    for device in trace.once(device_times):
        found = found - device.busy
    long = found.ends - found.starts >= UNSEEN_NS
    return Intervals(found.starts[long], found.ends[long])
