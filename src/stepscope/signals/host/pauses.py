"""Stretches of at least a millisecond without host events, where the same place usually takes far less."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from stepscope.analyses.shared.host_states import host_states
from stepscope.model.errors import MissingInputError
from stepscope.model.events.columns import Spans
from stepscope.model.events.steps import Steps
from stepscope.model.intervals import Times, distinct
from stepscope.signals.host.host import median
from stepscope.signals.shared.job import recorded_steps, step_ns
from stepscope.signals.signal import Signals, signal

#: Nothing that a healthy host does between two recorded events takes longer, but for work of its own.
_LEAST_NS: Final = 1_000_000
#: An operator that takes so many times what it usually takes did not take it for itself.
_OUTLIER: Final = 10
#: As many stretches are looked at, the longest ones.
_MOST: Final = 300
#: A stretch is regular if half of the other steps have one at this place, as a share of what a step records.
_SAME_PLACE: Final = 0.005

#: What a thread does shows in these.
_BUSY: Final = ("op", "runtime", "launch", "sync", "queue", "gc", "dataloader", "python", "module", "annotation")
_LONG_SQL: Final = """
SELECT id, coalesce(depth, 0) AS depth FROM spans
WHERE dur >= $least AND (category = 'overhead' OR track IN (SELECT unnest($threads)))
"""
#: What explains that nothing else is recorded meanwhile.
_EXPLAINED: Final = ("runtime", "launch", "sync", "queue", "gc", "dataloader", "overhead")


@dataclass(frozen=True, slots=True)
class Pauses:
    """The n pauses of the host, in time order.

    Attributes:
        starts: int64[n].
        ends: int64[n].
        inside: How many of them lie inside an operator, the others between two of them.
    """

    starts: Times
    ends: Times
    inside: int


@signal()
def pauses(s: Signals) -> Pauses:
    """Host pauses: stretches without any event that usually take far less time."""
    hosts = s.trace.once(host_states)
    if hosts is None or not hosts.python:
        raise MissingInputError(
            "the recording has no operators", hint="record the host (PyTorch: activities=[CPU, CUDA])"
        )
    threads = list(hosts.feeders)
    starts, ends, place, step = _silent(s, threads)
    if not starts.size:
        return Pauses(starts, ends, 0)
    usual, inside = _unexplained(s, threads, starts, ends)
    chosen = usual & ~_regular(place, step, s(recorded_steps), ends - starts)
    return Pauses(starts[chosen], ends[chosen], int(np.count_nonzero(inside & chosen)))


@signal("share")
def paused_share(s: Signals) -> float:
    """Host pauses as a share of the mean step."""
    found = s(pauses)
    return int((found.ends - found.starts).sum()) / s(recorded_steps) / s(step_ns)


Silent = tuple[Times, Times, NDArray[np.float64], NDArray[np.int64]]


def _silent(s: Signals, threads: list[int]) -> Silent:
    """Long stretches in steps without start or end of any event, their place within the step, and the step."""
    spans = Spans(s.trace)
    mine = np.flatnonzero(spans.of(*_BUSY) & np.isin(spans.track, threads) & (spans.dur >= 0))
    ts, steps = spans.ts[mine], Steps.of(s.trace)
    bounds = distinct(np.concatenate((ts, ts + spans.dur[mine], steps.ts, steps.stop)))
    at = np.flatnonzero(np.diff(bounds) >= _LEAST_NS)
    step = np.searchsorted(steps.ts, bounds[at], side="right") - 1
    inside = step >= 0
    inside[inside] &= bounds[at[inside] + 1] <= steps.stop[step[inside]]
    at, step = at[inside], step[inside]
    longest = np.sort(np.argsort(bounds[at] - bounds[at + 1], kind="stable")[:_MOST])
    at, step = at[longest], step[longest]
    first = np.searchsorted(bounds, steps.ts[step])
    events = np.searchsorted(bounds, steps.stop[step]) - first
    return bounds[at], bounds[at + 1], (at - first) / np.maximum(events, 1), step


def _unexplained(
    s: Signals, threads: list[int], starts: Times, ends: Times
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Which stretches no event explains, and which lie inside an operator that is usually short."""
    free, within, inside = (np.full(starts.size, flag) for flag in (True, False, False))
    spans, rows = Spans(s.trace), s.trace.columns(_LONG_SQL, {"threads": threads, "least": _LEAST_NS})
    at = spans.rows(rows["id"])[np.argsort(rows["depth"], kind="stable")]
    start, stop = spans.ts[at], spans.ts[at] + spans.dur[at]
    around = (start <= starts[:, None]) & (stop >= ends[:, None])
    overhead = spans.of("overhead")[at] & (start < ends[:, None]) & (stop > starts[:, None])
    explains = spans.of(*_EXPLAINED)[at]
    free[(overhead | around & explains).any(axis=1)] = False
    # Of several operators around a stretch the innermost one comes last, and stays.
    number, which = np.nonzero(around & spans.of("op")[at])
    name, dur = spans.name[at[which]], spans.dur[at[which]]
    usual = _usual(spans, name)
    within[number] = True
    inside[number] = [
        took > _OUTLIER * usual.get(one, took) for one, took in zip(name.tolist(), dur.tolist(), strict=True)
    ]
    return free & (inside | ~within), inside


def _usual(spans: Spans, names: NDArray[np.int32]) -> dict[int, int]:
    """Usual durations of operators with these names, where there are several."""
    operators = np.flatnonzero(spans.of("op") & (spans.dur >= 0))
    operators = operators[np.isin(spans.name[operators], names)]
    name, dur = spans.name[operators], spans.dur[operators]
    taken = {one: dur[name == one] for one in np.unique(name).tolist()}
    return {one: median(times) for one, times in taken.items() if times.size > 2}


def _regular(place: NDArray[np.float64], step: NDArray[np.int64], steps: int, length: Times) -> NDArray[np.bool_]:
    """Which stretches recur at the same place in half of the other steps; all, if there are too few steps."""
    if steps < 3:
        return np.ones(place.size, np.bool_)
    regular = np.zeros(place.size, np.bool_)
    for one in range(place.size):
        alike = (np.abs(place - place[one]) <= _SAME_PLACE) & (2 * length >= length[one]) & (step != step[one])
        regular[one] = 2 * np.unique(step[alike]).size >= steps - 1
    return regular
