"""Device memory that the allocator repeatedly takes from the driver and gives back."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from stepscope.analyses.shared.needs import need_calls, need_operators
from stepscope.analyses.shared.recorded_events import names_of, recorded_events
from stepscope.model import runtime_names
from stepscope.model.categories import CATEGORIES
from stepscope.model.errors import MissingInputError
from stepscope.model.events.columns import Ids, Spans, names_by_id
from stepscope.model.events.device_work import DeviceWork
from stepscope.model.events.steps import Steps
from stepscope.model.intervals import Times
from stepscope.signals.shared.job import span_ns, step_ns
from stepscope.signals.shared.step_columns import StepColumns
from stepscope.signals.signal import Signals, signal

#: Calls for page-locked host memory are another matter.
_HOST: Final = re.compile(r"Host", re.I)
#: Parts of a recording without steps.
_TENTHS: Final = 10
#: So many typical steps show what recurs.
_LOOP: Final = 3
_FREE: Final = re.compile(r"Free|Release|Unmap|Trim", re.I)


@dataclass(frozen=True, slots=True)
class DriverCalls(StepColumns):
    """The n calls that allocate or free device memory through the driver, in complete steps, in time order.

    Attributes:
        event: int64[n].
        ts: int64[n].
        dur: int64[n].
        step: int64[n].
        free: bool[n], whether it gives memory back.
        in_operator: bool[n], whether an operator made it, as those that need memory do.
        steps: int64[m], the complete steps.
    """

    event: NDArray[np.int64]
    ts: Times
    dur: Times
    step: NDArray[np.int64]
    free: NDArray[np.bool_]
    in_operator: NDArray[np.bool_]
    steps: NDArray[np.int64]

    @property
    def steady(self) -> DriverCalls:
        """The calls after the first step, in which every job takes its memory."""
        return self.where(self.step != self.steps[:1])

    @property
    def recurrence(self) -> float:
        """Share of the steps after the first that have any such calls."""
        later = max(self.steps.size - 1, 1)
        return np.unique(self.step[np.isin(self.step, self.steps[1:])]).size / later

    @property
    def returns(self) -> int:
        """In how many steps memory is given back."""
        return int(np.unique(self.step[self.free]).size)


@signal()
def driver_calls(s: Signals) -> DriverCalls:
    """Calls that allocate or free device memory through the driver, in complete steps."""
    spans, every = Spans(s.trace), Steps.of(s.trace)
    steps = every.step[every.whole].astype(np.int64)
    at = _asked(s)
    at = at[np.isin(spans.step[at], steps)]
    return _calls(s, at, spans.step[at].astype(np.int64), steps)


@signal()
def driver_calls_between(s: Signals) -> DriverCalls:
    """Such calls between the first and the last kernel of a recording without steps, with tenths for steps.

    A program that takes its memory once does so in one or two of them.
    """
    work, spans, at = DeviceWork.of(s.trace), Spans(s.trace), _asked(s)
    computing = work.are("compute")
    if not computing.any() or Steps.of(s.trace).found.any():
        return _calls(s, at[:0], np.zeros(0, np.int64), np.zeros(0, np.int64))
    first, last = int(work.ts[computing].min()), int((work.ts + work.dur)[computing].max())
    at = at[(spans.ts[at] >= first) & (spans.ts[at] < last)]
    return _calls(s, at, (spans.ts[at] - first) * _TENTHS // (last - first), np.arange(_TENTHS))


def _asked(s: Signals) -> Ids:
    """Positions in `Spans` of the calls that allocate or free device memory, by start."""
    need_calls(s.trace)
    spans = Spans(s.trace)
    at = np.flatnonzero(spans.of("runtime") & np.isin(spans.name, list(_names(s))))
    ordered: Ids = at[np.lexsort((spans.id[at], spans.ts[at]))]
    return ordered


def _names(s: Signals) -> dict[int, str]:
    names = dict(names_of(s.trace, ("runtime",)))
    return {i: name for i, name in names.items() if runtime_names.is_allocation(name) and not _HOST.search(name)}


def _calls(s: Signals, at: Ids, step: NDArray[np.int64], steps: NDArray[np.int64]) -> DriverCalls:
    spans = Spans(s.trace)
    around = spans.around[at]
    frees = [i for i, name in _names(s).items() if _FREE.search(name)]
    return DriverCalls(
        spans.id[at].astype(np.int64), spans.ts[at], np.maximum(spans.dur[at], 0), step,
        np.isin(spans.name[at], frees), (around >= 0) & spans.of("op")[around], steps,
    )  # fmt: skip


@signal()
def unasked_frees(s: Signals) -> DriverCalls:
    """Calls that free memory outside every operator, which the program asked for."""
    need_operators(s.trace)
    found = s(driver_calls)
    return found.where(found.free & ~found.in_operator)


@signal("share")
def driver_share(s: Signals) -> float:
    """Time in these calls per step after the first, as a share of the mean step."""
    found = s(driver_calls)
    later = max(found.steps.size - 1, 1)
    return float(found.steady.dur.sum()) / later / s(step_ns)


@signal()
def emptied(s: Signals) -> bool | None:
    """Whether the program calls empty_cache itself; null if no Python stacks are recorded."""
    if not s.trace.once(recorded_events).names(("python",)):
        return None
    return any(name.endswith(": empty_cache") for _, name in names_of(s.trace, CATEGORIES))


@dataclass(frozen=True, slots=True)
class Returned:
    """Calls that give device memory back, or that take it, in a recording without a loop.

    Attributes:
        total_ns: Their time.
        longest_ns: The longest.
        name: The one with most time; empty without any.
        events: int64[n], the longest first.
        recorded_ns: From the first event to the end of the last.
        within: The innermost range of the program around the longest; empty without one.
    """

    total_ns: int
    longest_ns: int
    name: str
    events: NDArray[np.int64]
    recorded_ns: int
    within: str = ""


@signal()
def returned(s: Signals) -> Returned:
    """Calls that give device memory back, but for one before all launches, which creates the context.

    Of a recording with several typical steps there are none: there it can be seen whether they recur.
    """
    return _outside_loops(s, frees=True)


@signal()
def taken(s: Signals) -> Returned:
    """Calls that take device memory from the driver, after the first launch and but for recordings of several steps.

    Only where the device's work is not recorded; else it tells what of these calls it waits for.
    """
    if DeviceWork.of(s.trace).are("compute").any():
        raise MissingInputError("the device's work is recorded")
    return _outside_loops(s, frees=False)


def _outside_loops(s: Signals, *, frees: bool) -> Returned:
    spans, at, names = Spans(s.trace), _asked(s), _names(s)
    of_kind = [i for i, name in names.items() if bool(_FREE.search(name)) is frees]
    at = at[np.isin(spans.name[at], of_kind) & (spans.dur[at] > 0)]
    launches = spans.ts[spans.of("launch")]
    at = at[spans.ts[at] > (int(launches.min()) if launches.size else np.iinfo(np.int64).max)]
    if np.count_nonzero(Steps.of(s.trace).typical & Steps.of(s.trace).found) >= _LOOP:
        at = at[:0]
    order = np.argsort(-spans.dur[at], kind="stable")
    longest = at[order]
    name = names[int(spans.name[longest[0]])] if longest.size else ""
    dur = spans.dur[longest]
    within = _range_around(s, int(longest[0])) if longest.size else ""
    events = spans.id[longest].astype(np.int64)
    return Returned(int(dur.sum()), int(dur.max(initial=0)), name, events, s(span_ns), within)


def _range_around(s: Signals, at: int) -> str:
    """The innermost annotation around an event of a host thread, on that thread."""
    spans = Spans(s.trace)
    ranges = np.flatnonzero(spans.of("annotation") & (spans.track == spans.track[at]) & (spans.ts <= spans.ts[at]))
    ranges = ranges[spans.ts[ranges] + spans.dur[ranges] >= spans.ts[at] + spans.dur[at]]
    if not ranges.size:
        return ""
    return s.trace.once(names_by_id)[int(spans.name[ranges[np.argmax(spans.ts[ranges])]])]
