"""The input pipeline: how long the job waits for batches, and how these are loaded."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from stepscope.analyses.shared.device_time import device_times
from stepscope.analyses.shared.host_waits import TAKING_NS, loader_waits
from stepscope.model.errors import MissingInputError
from stepscope.model.events.columns import Spans, names_by_id
from stepscope.model.intervals import Intervals
from stepscope.signals.shared.job import recorded_steps, step_ns, steps
from stepscope.signals.signal import Signals, signal

#: A first wait that is this many times longer than every later one starts the loader, and says nothing of the others.
_ODD: Final = 5
#: msprof-analyze calls a call of the loader slow from here on.
_LONG_NS: Final = 10_000_000
#: So many later waits must be shorter for the first one to be odd.
_LATER: Final = 3
#: Waits are few and long if a quarter of them make up this part of all waiting.
_UNEVEN: Final = 0.8


@dataclass(frozen=True, slots=True)
class LoaderWaits:
    """Calls in which the job takes a batch from its loader, in time order.

    Attributes:
        events: int64[n], their events.
        ts: int64[n], starts.
        dur: int64[n], durations.
        names: As recorded.
    """

    events: NDArray[np.int64]
    ts: NDArray[np.int64]
    dur: NDArray[np.int64]
    names: tuple[str, ...]

    def longest(self, most: int = 10) -> NDArray[np.int64]:
        """Positions of the longest ones."""
        return np.argsort(-self.dur, kind="stable")[:most]


@signal()
def waits(s: Signals) -> LoaderWaits:
    """Calls in which the job takes a batch from its loader."""
    spans, at = Spans(s.trace), loader_waits(s.trace)
    if not at.size:
        raise MissingInputError(
            "the recording shows no data loader",
            hint="profile the loop over a torch DataLoader, not only its body",
        )
    names = s.trace.once(names_by_id)
    recorded = tuple(names[name_id] for name_id in spans.name[at].tolist())
    return LoaderWaits(spans.id[at].astype(np.int64), spans.ts[at], np.maximum(spans.dur[at], 0), recorded)


@signal()
def odd_first(s: Signals) -> bool:
    """Whether the first wait, in which the loader starts, is five times longer than each of several later ones."""
    dur = s(waits).dur
    later = dur[1:]
    return bool(later.size >= _LATER and dur[0] >= _LONG_NS and dur[0] > _ODD * int(later.max()))


@signal()
def lone(s: Signals) -> bool:
    """Whether the waits are too few to be compared: one, or two or three of which the first takes most of the time."""
    dur = s(waits).dur
    return bool(dur.size == 1 or (dur.size <= _LATER and dur[0] >= _UNEVEN * dur.sum() > 0))


@signal()
def regular(s: Signals) -> LoaderWaits:
    """The waits without an odd first one."""
    found, first = s(waits), int(s(odd_first))
    return LoaderWaits(found.events[first:], found.ts[first:], found.dur[first:], found.names[first:])


@signal("ns")
def taking_ns(s: Signals) -> int:
    """Time to take a batch that workers have ready: the shortest wait, at most 0.5 ms."""
    dur = s(regular).dur
    return min(int(dur.min(initial=TAKING_NS)), TAKING_NS) if s(in_process) is False else 0


@signal("ns")
def wait_ns(s: Signals) -> int:
    """Mean wait for batches per step, without taking them and without an odd first wait, ns."""
    steps = max(s(recorded_steps) - s(odd_first), 1)
    found = s(regular).dur
    return (int(found.sum()) - found.size * s(taking_ns)) // steps


@signal("share")
def wait_share(s: Signals) -> float:
    """Mean wait for a batch as a share of the mean step."""
    return s(wait_ns) / s(step_ns)


@signal()
def in_process(s: Signals) -> bool | None:
    """Whether the main process loads the batches itself (no workers); null if not recorded."""
    return next((True for name in s(waits).names if "SingleProcess" in name), None) or next(
        (False for name in s(waits).names if "MultiProcessing" in name), None
    )


@signal()
def irregular(s: Signals) -> NDArray[np.bool_]:
    """Whether each regular wait is one of a few long ones at irregular intervals, bool[n].

    Workers that are too slow for the job make it wait regularly, each delivering after the same time: then none is
    marked, nor if most waits are long. Two long waits are irregular if no third one follows or precedes at their
    distance although the recording reaches that far. A single one is marked unless it is the first wait.
    """
    dur = s(regular).dur
    nothing = np.zeros(dur.size, np.bool_)
    order = np.argsort(-dur, kind="stable")
    if not dur.sum() or dur[order[: max(dur.size // 4, 1)]].sum() < _UNEVEN * dur.sum():
        return nothing
    long = dur >= dur.max() // 4
    at = np.flatnonzero(long)
    if at.size >= _LATER:
        found = np.unique(np.diff(at)).size > 1
    elif at.size > 1:
        found = bool(max(at[0], dur.size - 1 - at[1]) >= at[1] - at[0])
    else:
        found = bool(at[0] > 0)
    return long if found else nothing


@signal("ns")
def late_idle_ns(s: Signals) -> int:
    """Time per complete step in which no device has work while the host waits for a late batch."""
    found, late = s(regular), s(irregular)
    idle = Intervals.union_of(found.ts[late], found.ts[late] + found.dur[late])
    for device in s.trace.once(device_times):
        idle = idle - device.busy
    return idle.total // max(s(steps), 1)
