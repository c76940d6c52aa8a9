"""Single steps that last several times as long as the others, and what they do meanwhile."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from stepscope.analyses.shared.device_time import device_times
from stepscope.analyses.shared.host_states import host_states
from stepscope.analyses.shared.needs import has_device
from stepscope.model.errors import MissingInputError
from stepscope.model.events.columns import Ids, Spans, names_by_id
from stepscope.model.events.steps import Steps
from stepscope.model.intervals import Intervals
from stepscope.signals.host.compiling import compiling_events
from stepscope.signals.host.one_time import LOOP, compiling_intervals, loading_intervals
from stepscope.signals.host.outside import host_operators
from stepscope.signals.host.own_work import told
from stepscope.signals.host.same_work import same_work
from stepscope.signals.host.saving import saves
from stepscope.signals.shared.job import span_ns
from stepscope.signals.signal import Signals, signal

#: A step is slow if it lasts so many times as long as the typical ones, and longer than others from the second on.
_TIMES: Final = 2.0
_LONGER: Final = 1.3
#: What takes this part of the time that slow steps have more than others is what they do.
_MOST: Final = 0.5
_SQL: Final = "SELECT role, coalesce(number, step) AS number FROM steps ORDER BY ts, step"
_CALLS: Final = ("runtime", "launch", "sync")


@dataclass(frozen=True, slots=True)
class LongSteps:
    """Steps that are no typical ones since they last several times as long.

    Attributes:
        steps: Their recorded numbers; empty without any.
        longest_ns: Length of the longest.
        more_ns: What all of them last longer than typical steps.
        typical_ns: Length of a typical step.
        others: How many typical steps there are.
        recorded_ns: From the first event to the end of the last.
        kind: What takes most of what they last longer: compiling, loading, collecting, saving, call, work, `unseen`
            work of the host, communication, copies, compute, or on a host alone the same operators as in the others,
            by their `shapes` or by their names alone, `operators`; empty if nothing recorded does.
        name: The event in which it was spent; empty if none is known.
        took_ns: How long that took in these steps.
        ranges: Start and end of each.
        alone: Whether no device is seen, so that the host's operators count for its work.
    """

    steps: tuple[int, ...] = ()
    longest_ns: int = 0
    more_ns: int = 0
    typical_ns: int = 0
    others: int = 0
    recorded_ns: int = 1
    kind: str = ""
    name: str = ""
    took_ns: int = 0
    ranges: tuple[tuple[int, int], ...] = ()
    alone: bool = False


@signal()
def slow_steps(s: Signals) -> LongSteps:
    """Steps between others that last several times as long, and what takes the time; asked of all that was recorded."""
    return _unlike(s, _TIMES, np.inf)


@signal()
def longer_steps(s: Signals) -> LongSteps:
    """Steps between others that last longer, but less than twice as long, and what takes the time."""
    return _unlike(s, _LONGER, _TIMES)


def _unlike(s: Signals, least: float, below: float) -> LongSteps:
    """Steps between others that last so many times as long."""
    steps = Steps.of(s.trace)
    usual, typical = steps.typical_ns, steps.typical & steps.found & (steps.length > 0)
    if usual is None or np.count_nonzero(typical) < LOOP:
        raise MissingInputError("the recording has too few steps", hint="record some whole steps of the job")
    rows = s.trace.sql(_SQL).to_pydict()
    outlier = np.array([role == "outlier" for role in rows["role"]], np.bool_)
    at = np.flatnonzero(outlier & (steps.length >= least * usual) & (steps.length < below * usual))
    if not at.size:
        return LongSteps()
    within, like = (Intervals.union_of(steps.start[some], steps.end[some]) for some in (at, np.flatnonzero(typical)))
    more = int((steps.length[at] - usual).sum())
    kind, name, took = _cause(s, within, like, more)
    if kind == "compute" and not s.trace.once(has_device):
        kind = same_work(s.trace, at, np.flatnonzero(typical)) or kind
    return LongSteps(
        tuple(rows["number"][one] for one in at.tolist()), int(steps.length[at].max()), more, usual,
        int(np.count_nonzero(typical)), s(span_ns), kind, name, took,
        tuple(zip(steps.start[at].tolist(), steps.end[at].tolist(), strict=True)), not s.trace.once(has_device),
    )  # fmt: skip


def _cause(s: Signals, within: Intervals, like: Intervals, more: int) -> tuple[str, str, int]:
    """What takes most of it, in which event, for how long; `like` are typical steps to compare with."""
    alone, least = not s.trace.once(has_device), _MOST * more
    busy, working = Intervals.empty(), dict.fromkeys(("communication", "copies", "compute"), Intervals.empty())
    if alone:
        busy = working["compute"] = host_operators(s)
    for device in [] if alone else s.trace.once(device_times):
        busy = busy | device.busy
        for kind, part in zip(working, (device.comm, device.copy, device.compute), strict=True):
            working[kind] = working[kind] | part
    # As many typical steps would have had so much of it.
    usual = (within.total - more) / like.total
    idle = within - busy
    if idle.total - usual * (like - busy).total >= least and s.trace.once(host_states) is not None:
        return _on_host(s, idle, least)
    for kind, part in working.items():
        extra = round((part & within).total - usual * (part & like).total)
        if extra >= least:
            return kind, "", extra
    return "", "", 0


def _on_host(s: Signals, idle: Intervals, least: float) -> tuple[str, str, int]:
    """What the host does while the devices are idle."""
    spans, names = Spans(s.trace), s.trace.once(names_by_id)
    compiling, collecting = s(compiling_events), np.flatnonzero(spans.of("gc") & (spans.dur > 0))
    for kind, found, at in (
        ("compiling", compiling_intervals(s), compiling),
        ("loading", loading_intervals(s), compiling[:0]),
        ("collecting", _of(spans, collecting), collecting),
    ):
        took = (idle & found).total
        if took >= least:
            return kind, _largest(spans, names, at, idle), took
    hosts = s.trace.once(host_states)
    assert hosts is not None
    calls = np.flatnonzero(spans.of(*_CALLS) & np.isin(spans.track, hosts.feeders) & (spans.dur > 0))
    call = _largest(spans, names, calls, idle)
    took = (idle & _of(spans, calls[np.isin(spans.name[calls], [one for one in names if names[one] == call])])).total
    if took >= least:
        return "call", call, took
    doing = told(s, idle)
    every = [(doing.name, 1.0 if doing.name else 0.0), *doing.parts, *doing.beside]
    name, share = max(every, key=lambda one: one[1])
    if share * idle.total < least:
        return "unseen", "", idle.total
    return "saving" if saves(doing) else "work", name, round(share * idle.total)


def _of(spans: Spans, at: Ids) -> Intervals:
    return Intervals.union_of(spans.ts[at], spans.ts[at] + spans.dur[at])


def _largest(spans: Spans, names: dict[int, str], at: Ids, idle: Intervals) -> str:
    """Name of the events that take most of the idle time; empty without any."""
    inside = idle.within(spans.ts[at], spans.ts[at] + spans.dur[at])
    if not inside.size or not inside.any():
        return ""
    name, index = np.unique(spans.name[at], return_inverse=True)
    return names[int(name[np.bincount(index, inside).argmax()])]
