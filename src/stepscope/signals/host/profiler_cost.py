"""Host time that the profiler itself adds, by which recorded times exceed the job's own.

Three causes are recognised. Collecting a stack with each operator makes the operators of the thread that runs Python
several times as long as equal ones of the backward thread. An observer of all operators (PyTorch's execution trace)
makes all of them long, and leaves its numbers in their arguments. A recorder of Python calls looks up the line of each
call: in a generated function of thousands of lines this takes longer the further down the call is.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from stepscope.analyses.shared.host_states import host_states
from stepscope.model.errors import MissingInputError
from stepscope.model.events.columns import Spans, named
from stepscope.model.intervals import Intervals
from stepscope.signals.host.host import dispatch_share, dispatching, late_share, median, operator_ns
from stepscope.signals.shared.job import recorded_steps, step_ns
from stepscope.signals.signal import Signals, signal

#: An operator that calls nothing takes 0.4 to 5 µs where it is only recorded; from here on something observes it.
_SLOW_NS: Final = 8_000
#: What such an operator usually takes.
_USUAL_NS: Final = 2_000
#: Operators of a name are compared between two threads from so many on each on; recordings without stacks show ratios
#: of 0.2 to 2.3 between their threads, those with stacks 2.6 to 17.
_FEW, _NAMES, _RATIO = 10, 3, 3.0
#: In a step that calls each a few times, that many names tell where Python's calls are recorded as well.
_FEWER, _MORE_NAMES, _HIGHER = 2, 5, 5.0
#: So many operators tell whether an observer numbers them.
_SAMPLE: Final = 1_000
_NUMBERED_SQL: Final = f"""
SELECT count(*) AS number, count(*) FILTER (numbered > 0) AS numbered FROM (
    SELECT try_cast(args->>'Record function id' AS BIGINT) AS numbered FROM events
    WHERE category = 'op' AND args IS NOT NULL LIMIT {_SAMPLE})
"""
#: A function is long from so many calls on; the pauses of its last quarter must be so many times those of the first.
_LONG: Final = 400
_GROWTH: Final = 3.0


#: Functions of the profiler that the program calls: what they import, start, stop and write is not the program's work.
_OWN: Final = re.compile(
    r"(^|/)torch/(profiler/profiler|autograd/profiler)\.py\(\d+\): "
    r"(__enter__|__exit__|start(_trace)?|stop(_trace)?|prepare_trace|step|_transit_action)$"
)


@dataclass(frozen=True, slots=True)
class ProfilerCost:
    """Host time that the profiler adds to the threads that launch.

    Attributes:
        cause: `observer`, `stacks`, `lines`, or empty where nothing shows.
        times: How many times as long something takes as it should: operators, or the pauses between calls.
        added_ns: Host time that it adds to all recorded steps, an estimate.
    """

    cause: str = ""
    times: float = 1.0
    added_ns: int = 0


def own_calls(s: Signals, track: int) -> Intervals:
    """When a thread was in functions of the profiler itself, where Python's functions are recorded."""
    spans = Spans(s.trace)
    at = np.flatnonzero(spans.of("python") & (spans.track == track) & named(s.trace, _OWN.search))
    return Intervals.union_of(spans.ts[at], spans.ts[at] + np.maximum(spans.dur[at], 0))


@signal()
def added_work(s: Signals) -> ProfilerCost:
    """Host time that the profiler adds; of several causes the largest."""
    hosts = s.trace.once(host_states)
    if hosts is None:
        raise MissingInputError("the recording has no host threads", hint="record the host as well as the device")
    looks: tuple[Callable[[Signals], ProfilerCost], ...] = (_observer, _stacks, _lines)
    return max((look(s) for look in looks), key=lambda one: one.added_ns)


@signal("share")
def added_share(s: Signals) -> float:
    """Host time that the profiler adds as a share of the step, to be subtracted from lateness of the host."""
    return s(added_work).added_ns / s(recorded_steps) / s(step_ns)


@signal("share")
def own_dispatch_share(s: Signals) -> float:
    """`host.dispatch_share` without the host time that the profiler adds."""
    return max(s(dispatch_share) - (s.maybe(added_share) or 0.0), 0.0)


@signal("share")
def own_late_share(s: Signals) -> float:
    """Lateness of the host, dispatch and other work, as a share of the step, without what the profiler adds.

    None of it where the profiler adds more than that: the difference of two estimates is then within their error.
    """
    added = s.maybe(added_share) or 0.0
    left = s(late_share) - added
    return left if left >= added else 0.0


def _observer(s: Signals) -> ProfilerCost:
    """The cost of an observer that numbers operators, where all of these are long."""
    usual = s(operator_ns)
    if usual < _SLOW_NS:
        return ProfilerCost()
    rows = s.trace.columns(_NUMBERED_SQL)
    if 2 * int(rows["numbered"][0]) < max(int(rows["number"][0]), 1):
        return ProfilerCost()
    return ProfilerCost("observer", usual / _USUAL_NS, round((1 - _USUAL_NS / usual) * _made(s)))


def _stacks(s: Signals) -> ProfilerCost:
    """The cost of stacks: operators of one thread several times as long as those of the same name on another."""
    spans = Spans(s.trace)
    inner = spans.of("op") & (spans.dur >= 0)
    every = np.flatnonzero(inner & (spans.step >= 0))
    inner[spans.around[spans.around >= 0]] = False
    main, others = _threads(s)
    mine = np.flatnonzero(inner & (spans.track == main))
    theirs = np.flatnonzero(inner & np.isin(spans.track, others))
    ways = [(_FEW, _NAMES, _RATIO), *([(_FEWER, _MORE_NAMES, _HIGHER)] if spans.of("python").any() else [])]
    for few, names, ratio in ways:
        shared = _shared(spans, mine, theirs, few)
        if len(shared) < names or sum(slow >= _SLOW_NS for slow, _ in shared) < names:
            continue
        times = float(np.median([slow / max(quick, 1) for slow, quick in shared]))
        if times >= ratio:
            break
    else:
        return ProfilerCost()
    each = int(np.median([slow - quick for slow, quick in shared]))
    return ProfilerCost("stacks", times, min(each * int(np.count_nonzero(spans.track[every] == main)), _made(s)))


def _shared(spans: Spans, mine: NDArray[np.int64], theirs: NDArray[np.int64], few: int) -> list[tuple[int, int]]:
    """Median durations, on both threads, of the operators that both called often enough."""
    return [
        (median(spans.dur[a]), median(spans.dur[b]))
        for name in np.intersect1d(spans.name[mine], spans.name[theirs]).tolist()
        if (a := mine[spans.name[mine] == name]).size >= few and (b := theirs[spans.name[theirs] == name]).size >= few
    ]


def _lines(s: Signals) -> ProfilerCost:
    """The cost of looking up lines: pauses between the calls of a long function grow from its start to its end."""
    spans = Spans(s.trace)
    python = spans.of("python")
    if not python.any():
        return ProfilerCost()
    inside = np.flatnonzero(spans.around >= 0)
    around = spans.around[inside]
    calls = np.bincount(around, minlength=spans.id.size)
    extra, times = 0, 1.0
    for function in np.flatnonzero(python & (calls >= _LONG)).tolist():
        own = inside[around == function]
        first, last, growing = _pauses(spans, own)
        if first and last >= _GROWTH * first:
            extra, times = extra + growing, max(times, last / first)
    return ProfilerCost("lines", times, min(extra, _made(s))) if extra else ProfilerCost()


def _pauses(spans: Spans, calls: NDArray[np.int64]) -> tuple[int, int, int]:
    """Pauses between calls: median of the first quarter, median of the last, and the total above the first."""
    calls = calls[np.lexsort((spans.id[calls], spans.ts[calls]))]
    ends = np.maximum.accumulate(spans.ts[calls] + np.maximum(spans.dur[calls], 0))
    pause = np.maximum(spans.ts[calls][1:] - ends[:-1], 0)
    quarters = [median(part) for part in np.array_split(pause, 4)]
    if sorted(quarters) != quarters:
        return 0, 0, 0
    # Work of its own between two calls is longer than what grows from call to call.
    return quarters[0], quarters[3], int(np.clip(pause - quarters[0], 0, 2 * quarters[3]).sum())


def _threads(s: Signals) -> tuple[int, tuple[int, ...]]:
    hosts = s.trace.once(host_states)
    return (hosts.feeders[0], hosts.feeders[1:]) if hosts else (-1, ())


def _made(s: Signals) -> int:
    """Time in which the host was working, in all recorded steps, ns."""
    starts, ends = s(dispatching)
    return int((ends - starts).sum())
