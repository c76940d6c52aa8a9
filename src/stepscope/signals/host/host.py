"""Whether the device waits for the host to launch work, and what the host does meanwhile."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from stepscope.analyses.shared import host_states as states
from stepscope.analyses.shared.device_time import device_times
from stepscope.analyses.shared.recorded_events import recorded_events
from stepscope.model.categories import CATEGORIES
from stepscope.model.errors import MissingInputError
from stepscope.model.events.columns import Spans, names_by_id, on_host
from stepscope.model.events.device_work import DeviceWork
from stepscope.model.events.steps import Steps
from stepscope.model.intervals import Intervals, Times
from stepscope.signals.shared.job import recorded_steps, step_ns, steps
from stepscope.signals.signal import Signals, signal

#: Fewer calls than this do not tell what one usually takes.
_FEW: Final = 30

_GC_SQL: Final = """
SELECT id, ts, dur FROM (
    SELECT s.id, s.ts, coalesce(s.dur, 0) AS dur, max(s.ts + s.dur) OVER (
        PARTITION BY s.track ORDER BY s.ts, s.dur DESC, s.id ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS until
    FROM spans s JOIN tracks t USING (track) WHERE t.kind = 'host' AND s.category = 'gc' AND s.step IS NOT NULL)
WHERE until IS NULL OR ts >= until ORDER BY ts, id  -- `gc.collect` and the collection in it are one
"""
#: The function itself, which is only recorded where the program calls it; a collection of its own accord has no frame.
_COLLECT: Final = re.compile(r"<built-in function collect>|\bgc\.collect\b")
#: Causes of idleness that waits for the device do not share in.
_NOT_BY_WAITS: Final = ("data_wait", "unknown")
#: What the host does while the next work is not launched yet, but for garbage collection.
_DISPATCHING: Final = ("op_overhead", "python", "runtime_call", "other")


@dataclass(frozen=True, slots=True)
class MainThread:
    """States of the main thread, or of the one that it handed over to, in the steps.

    Attributes:
        starts: int64[n].
        ends: int64[n].
        state: int8[n], as in `analyses.host_states`.
    """

    starts: Times
    ends: Times
    state: NDArray[np.int8]

    def of(self, *wanted: int) -> tuple[Times, Times]:
        """Intervals in some of the states."""
        mine = np.isin(self.state, wanted)
        return self.starts[mine], self.ends[mine]


@dataclass(frozen=True, slots=True)
class StepEvents:
    """Events of one kind in steps, in time order: int64[n] each."""

    events: NDArray[np.int64]
    ts: Times
    dur: Times


@signal()
def idle(s: Signals) -> Mapping[tuple[str, str], int]:
    """Mean idle time of a device per typical step by cause and detail, ns."""
    rows = s.table("idle_causes").arrow.to_pylist()
    typical = set(Steps.of(s.trace).typical_steps.tolist())
    windows = len(typical) * max(len({row["device"] for row in rows}), 1)
    if not windows:
        raise MissingInputError("the recording has no complete step", hint="record at least two whole steps")
    total: dict[tuple[str, str], int] = {}
    for row in rows:
        if row["step"] in typical:
            key = row["cause"], row["detail"] or ""
            total[key] = total.get(key, 0) + row["total_ns"]
    return {key: ns // windows for key, ns in total.items()}


def _share(s: Signals, cause: str, *details: str) -> float:
    chosen = sum(ns for (name, detail), ns in s(idle).items() if name == cause and (not details or detail in details))
    return chosen / s(step_ns)


@signal("share")
def idle_share(s: Signals) -> float:
    """Idle time of the device as a share of the step, without switching to a kernel that waits in its queue."""
    turning = s(idle).get(("launch_latency", "queued"), 0)
    return (sum(s(idle).values()) - turning) / s(step_ns)


@signal("ns")
def idle_ns(s: Signals) -> int:
    """Idle time of the device per step, ns: an upper bound of what a faster host saves."""
    return round(s(idle_share) * s(step_ns))


@signal("ns")
def refill_ns(s: Signals) -> int:
    """Idle time of the device per step that waiting for it can cost, ns: without the loader and the host's own work.

    These would be hidden if the host did not wait; that they take milliseconds is a finding of its own, and a cause.
    Nor does idle time count whose cause is not known: the device may have done what the recording lost.
    """
    apart = [ns for key, ns in s(idle).items() if key[0] in _NOT_BY_WAITS or key == ("host_dispatch", "host_work")]
    return max(s(idle_ns) - sum(apart), 0)


@signal("share")
def dispatch_share(s: Signals) -> float:
    """Idle time of the device because its next work is not launched yet, as a share of the step.

    The host was dispatching: neither busy with work of its own for milliseconds, nor loading a kernel for its first
    launch.
    """
    return _share(s, "host_dispatch", *_DISPATCHING) + _share(s, "launch_latency", "empty_queue")


@signal("share")
def late_share(s: Signals) -> float:
    """Idle time because work is not launched yet, including the host's own work, as a share of the step."""
    return s(dispatch_share) + _share(s, "host_dispatch", "host_work")


@signal("share")
def ramp_share(s: Signals) -> float:
    """Share of the dispatch idle time that lies in a recording's first half, for recordings without steps.

    The queue is empty until the host runs ahead, which happens once. With steps it belongs to each of them, and this is
    0.
    """
    if s(steps):
        return 0.0
    starts, ends = s(dispatching)
    idle = Intervals.union_of(starts, ends)
    for device in s.trace.once(device_times):
        idle = idle - device.busy
    [lo], [hi] = _windows(s)
    return idle.clip(int(lo), int(lo + hi) // 2).total / max(idle.total, 1)


@signal("per step")
def dispatch_gaps(s: Signals) -> float:
    """Idle gaps that end with a late launch: per step, or per millisecond of it where that is more.

    A loop of five kernels has five in a step of 30 µs; a few long gaps in a long step are few by either measure.
    """
    rows = s.table("idle_causes").arrow.to_pylist()
    typical = set(Steps.of(s.trace).typical_steps.tolist())
    found: dict[tuple[int | None, str], int] = {}
    for row in rows:
        if row["step"] in typical and row["cause"] == "host_dispatch" and row["detail"] in _DISPATCHING:
            key = row["device"], row["detail"]
            found[key] = found.get(key, 0) + row["count"]
    per_step = max(found.values(), default=0) / max(len(typical), 1)
    return max(per_step, per_step * 1e6 / s(step_ns))


@signal("share")
def python_share(s: Signals) -> float:
    """Part of `dispatch_share` in which the host was in Python, between operators."""
    return _share(s, "host_dispatch", "python")


@signal("share")
def operators_share(s: Signals) -> float:
    """Part of `dispatch_share` in which the host was in operators and calls of the device's runtime."""
    return _share(s, "host_dispatch", "op_overhead", "runtime_call")


@signal("ns")
def kernel_ns(s: Signals) -> int:
    """Median duration of a compute kernel."""
    work = DeviceWork.of(s.trace)
    return median(work.dur[work.are("compute") & (work.step >= 0)])


@signal("ns")
def launch_period_ns(s: Signals) -> int:
    """Median time between two launches of a thread."""
    work = DeviceWork.of(s.trace)
    mine = work.are("compute") & (work.call_step >= 0)
    _, first = np.unique(work.launch[mine], return_index=True)
    thread, called = work.thread[mine][first], work.called[mine][first]
    order = np.lexsort((called, thread))
    same = thread[order][1:] == thread[order][:-1]
    return median(np.diff(called[order])[same])


@signal("ns")
def call_ns(s: Signals) -> int:
    """Median duration of a launch call; 0 where there are too few."""
    spans = Spans(s.trace)
    calls = np.flatnonzero(spans.of("launch") & (spans.step >= 0))
    taken = spans.dur[calls[on_host(s.trace, spans.track[calls])]]
    return median(taken[taken >= 0]) if taken.size >= _FEW else 0


@signal("ns")
def operator_ns(s: Signals) -> int:
    """Median duration of an operator without runtime calls; 0 where there are too few."""
    spans = Spans(s.trace)
    inner = spans.of("op") & (spans.step >= 0)
    inner[spans.around[spans.around >= 0]] = False
    durations = spans.dur[inner]
    return median(durations[durations >= 0]) if durations.size >= _FEW else 0


def median(values: Times) -> int:
    """The lower median; 0 for no values."""
    if not values.size:
        return 0
    middle = (values.size - 1) // 2
    return int(np.partition(values, middle)[middle])


@signal()
def line(s: Signals) -> MainThread:
    """States of the host in the steps, on the thread that launches or those that it waits for."""
    hosts = s.trace.once(states.host_states)
    if hosts is None:
        raise MissingInputError("the recording has no host threads", hint="record the host as well as the device")
    starts, ends = _windows(s)
    parts = hosts.cut(np.full(starts.size, hosts.feeders[0]), starts, ends)
    return MainThread(parts.starts, parts.ends, parts.state)


def _windows(s: Signals) -> tuple[Times, Times]:
    """Starts and ends of the steps on the host, or of the time in which devices were in use without steps."""
    if s(steps):
        every = Steps.of(s.trace)
        return every.ts, every.stop
    devices = s.trace.once(device_times)
    first, last = min(device.first for device in devices), max(device.last for device in devices)
    return np.array([first]), np.array([last])


@signal()
def dispatching(s: Signals) -> tuple[Times, Times]:
    """When the host was in operators, calls of the runtime or Python, and not waiting for anything: starts and ends."""
    return s(line).of(states.OP, states.RUNTIME, states.PYTHON, states.OTHER)


@signal()
def in_operators(s: Signals) -> tuple[Times, Times]:
    """When the host was in operators or calls of the runtime that wait for nothing: starts and ends."""
    return s(line).of(states.OP, states.RUNTIME)


@signal()
def in_python(s: Signals) -> tuple[Times, Times]:
    """When the host was in Python, between operators: starts and ends."""
    return s(line).of(states.PYTHON)


@signal("share")
def python_part(s: Signals) -> float:
    """Time in Python as a share of the host's working time, without waits."""
    python, every = (int((ends - starts).sum()) for starts, ends in (s(in_python), s(dispatching)))
    return python / max(every, 1)


@signal("ns")
def python_per_operator_ns(s: Signals) -> int:
    """Time in Python per operator that the main thread calls from it; 0 where there are too few."""
    hosts = s.trace.once(states.host_states)
    starts, ends = s(in_python)
    calls = _outermost(s, hosts.feeders[0]) if hosts else 0
    return int((ends - starts).sum()) // calls if calls >= _FEW else 0


def _outermost(s: Signals, track: int) -> int:
    """Operators of a thread in steps that lie in no other operator."""
    spans = Spans(s.trace)
    operators = np.flatnonzero(spans.of("op") & (spans.step >= 0) & (spans.track == track))
    around = spans.around[operators]
    return int(np.count_nonzero((around < 0) | (spans.category[around] != CATEGORIES.index("op"))))


@signal()
def collections(s: Signals) -> StepEvents:
    """Python's garbage collections in steps."""
    if not s.trace.once(recorded_events).names(("gc",)):
        none = np.zeros(0, np.int64)
        return StepEvents(none, none, none)
    rows = s.trace.columns(_GC_SQL)
    return StepEvents(rows["id"], rows["ts"], rows["dur"])


@signal()
def asked_to_collect(s: Signals) -> bool:
    """Whether all collections in steps are calls of `gc.collect()` that the program makes."""
    found, names = s(collections), s.trace.once(names_by_id)
    spans = Spans(s.trace)
    mine = np.isin(spans.id, found.events)
    return bool(found.events.size) and all(_COLLECT.search(names[one]) for one in np.unique(spans.name[mine]).tolist())


@signal("share")
def collecting_share(s: Signals) -> float:
    """Time of garbage collections as a share of the mean step."""
    return int(s(collections).dur.sum()) / s(recorded_steps) / s(step_ns)
