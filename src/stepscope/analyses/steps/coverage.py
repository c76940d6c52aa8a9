"""What the recorded time consists of: start-up, steps by role, time between them, time after them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from stepscope.analyses.registry import Analysis
from stepscope.analyses.shared.device_time import device_times
from stepscope.analyses.shared.host_states import host_states
from stepscope.ingest.derive.steps.recorded import OPEN
from stepscope.model.errors import MissingInputError
from stepscope.model.events.columns import Ids, Spans, names_by_id, on_host
from stepscope.model.events.steps import Steps
from stepscope.model.intervals import Intervals, Times
from stepscope.model.schema import TableSchema, count, ns, text
from stepscope.model.table import Table
from stepscope.model.tables import RANK
from stepscope.model.trace import Trace

COVERAGE = TableSchema(
    "coverage",
    "One row per part of the recorded time of a rank, which they add up to exactly. Only `typical` steps, or `in use` "
    "where none are known, are what prices and everything per step are about.",
    (
        RANK,
        text("part", "start-up (before the first step, or the first device activity), typical, warm-up, edge, outlier, "
             "partial (steps, by their role), in use (where no steps are known), between (steps), after (the last)."),
        count("count", "Steps; 0 for what is no step."),
        ns("total_ns", "Its length."),
        ns("busy_ns", "Time in it in which a device did anything."),
        ns("copies_ns", "Time in it in which copies or memsets ran."),
        text("call", "The call of the device's runtime, of a loader, or of the system on the thread that feeds the "
             "devices, that took longest in it, by itself at least a tenth of it; outside the steps, else the "
             "innermost operator, range or function there that took half of it; null if none did.", nullable=True),
        ns("call_ns", "How much of that part it took.", nullable=True),
    ),
)  # fmt: skip

#: Share of an interval from which on a call explains it.
_LONG: Final = 0.1
_CALLS: Final = ("runtime", "launch", "sync", "overhead", "dataloader")
#: What explains a part outside the steps without such a call, if it takes half of it.
_OUTSIDE: Final = ("start-up", "between", "after")
_RANGES: Final = ("op", "annotation", "module", "python")
_MOST: Final = 0.5


@dataclass(frozen=True, slots=True)
class _Part:
    name: str
    start: int
    end: int
    step: bool


def coverage(trace: Trace) -> Table:
    """Split the recorded time of a rank.

    Raises:
        MissingInputError: Nothing in the recording has a time.
    """
    spans, steps = Spans(trace), Steps.of(trace)
    if not spans.ts.size or not steps.step.size:
        raise MissingInputError("nothing in the recording has a time", hint="record some whole steps of the job")
    lo, hi = int(spans.ts.min()), _end(spans)
    parts = _parts(steps, trace, lo, hi)
    busy, copies = _device(trace)
    names = trace.once(names_by_id)
    calls = np.flatnonzero(_explaining(trace, spans) & (spans.dur > 0))
    ranges = np.flatnonzero(spans.of(*_RANGES) & (spans.track == _main(trace)) & (spans.dur > 0))
    rows = []
    for name in dict.fromkeys(part.name for part in parts):
        mine = [part for part in parts if part.name == name]
        starts, ends = (np.array([getattr(part, edge) for part in mine], np.int64) for edge in ("start", "end"))
        total = int((ends - starts).sum())
        told = _longest(spans, calls, starts, ends, total)
        if told is None and name in _OUTSIDE:
            told = _innermost(spans, ranges, starts, ends, total)
        rows.append((
            trace.ranks[0], name, sum(part.step for part in mine), total, int(busy.within(starts, ends).sum()),
            int(copies.within(starts, ends).sum()), names[told[0]] if told else None, told[1] if told else None,
        ))  # fmt: skip
    return Table.from_rows(COVERAGE, rows)


def _inside(spans: Spans, at: Ids, starts: Times, ends: Times) -> Times:
    """How much of each event lies in the part in which it starts, int64[n]."""
    part = np.searchsorted(starts, spans.ts[at], side="right") - 1
    stop = np.minimum(spans.ts[at] + spans.dur[at], ends[np.maximum(part, 0)])
    found: Times = np.where(part >= 0, np.maximum(stop - spans.ts[at], 0), 0)
    return found


def _longest(spans: Spans, at: Ids, starts: Times, ends: Times, total: int) -> tuple[int, int] | None:
    """Name and time of the longest of these calls, if it explains the part."""
    length = _inside(spans, at, starts, ends)
    longest = int(length.argmax()) if length.size else -1
    if longest < 0 or length[longest] < max(_LONG * total, 1):
        return None
    return int(spans.name[at[longest]]), int(length[longest])


def _innermost(spans: Spans, at: Ids, starts: Times, ends: Times, total: int) -> tuple[int, int] | None:
    """The same of the innermost of nested ranges that takes most of the part."""
    length = _inside(spans, at, starts, ends)
    most = np.flatnonzero(length >= max(_MOST * total, 1))
    if not most.size:
        return None
    chosen = most[np.lexsort((-spans.ts[at[most]], length[most]))[0]]
    return int(spans.name[at[chosen]]), int(length[chosen])


def _main(trace: Trace) -> int:
    hosts = trace.once(host_states)
    return hosts.feeders[0] if hosts is not None else -1


def _end(spans: Spans) -> int:
    """When the last event ends; marks that were never closed do not count."""
    stop, length = spans.ts + np.maximum(spans.dur, 0), np.maximum(spans.dur, 0)
    mark = spans.of("step", "annotation")
    last = int(stop[~mark].max(initial=np.iinfo(np.int64).min))
    closed = ~mark | (stop - max(last, int(spans.ts.min())) <= OPEN * length)
    return int(stop[closed].max(initial=last) if (~mark).any() else stop.max())


def _explaining(trace: Trace, spans: Spans) -> NDArray[np.bool_]:
    """Which events are calls of the device's runtime, or of the system on the thread that feeds the devices."""
    system = spans.of("other") & (spans.track == _main(trace))
    found: NDArray[np.bool_] = system | spans.of(*_CALLS) & on_host(trace, spans.track)
    return found


def _parts(steps: Steps, trace: Trace, lo: int, hi: int) -> list[_Part]:
    """Parts in time order that tile [lo, hi)."""
    role = trace.sql("SELECT role FROM steps ORDER BY ts, step")["role"].to_pylist()
    found: list[_Part] = []
    at = lo
    for i, kind in enumerate(role):
        start, end = (min(max(int(edge[i]), at), hi) for edge in (steps.start, steps.end))
        if start > at:
            found.append(_Part("between" if i else "start-up", at, start, False))
        name = "in use" if kind == "window" else kind
        found.append(_Part(name, start, end, bool(steps.found[i])))
        at = max(end, at)
    if hi > at:
        found.append(_Part("after", at, hi, False))
    return found


def _device(trace: Trace) -> tuple[Intervals, Intervals]:
    """When any device did anything, and when copies or memsets ran."""
    try:
        devices = trace.once(device_times)
    except MissingInputError:
        return Intervals.union_of(*(np.zeros(0, np.int64),) * 2), Intervals.union_of(*(np.zeros(0, np.int64),) * 2)
    busy, copies = devices[0].busy, devices[0].copy
    for device in devices[1:]:
        busy, copies = busy | device.busy, copies | device.copy
    return busy, copies


ANALYSES = (Analysis(COVERAGE, coverage),)
