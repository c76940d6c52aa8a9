"""Parse changes such as `kernel:gemm=0.5`, `data_wait` and `comm`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stepscope.analyses.stepgraph.building.handovers import handed
from stepscope.analyses.stepgraph.building.peers import moving_ns
from stepscope.analyses.stepgraph.graph import StepGraph
from stepscope.analyses.stepgraph.whatif.subjects import BOTH, DEVICE, SUBJECTS, synchronising
from stepscope.language import said
from stepscope.model.errors import UserError
from stepscope.model.events.change import Change, Events, Scaled, scaled_each
from stepscope.model.events.columns import Spans
from stepscope.model.events.device_work import DeviceWork
from stepscope.model.intervals import Intervals, Times
from stepscope.model.suggest import choose
from stepscope.model.trace import Trace

_OVERLAPPING = ("comm", "copy")


def change_of(
    trace: Trace, *, scale: Sequence[str] = (), remove: Sequence[str] = (), overlap: Sequence[str] = ()
) -> Change:
    """The change that these words stand for in the trace of one rank.

    Raises:
        UserError: A word means nothing, or no event of the trace.
    """
    change = Change()
    for text in scale:
        change += scaled(trace, text)
    for text in remove:
        change += removed(trace, text)
    for text in overlap:
        change += overlapped(trace, text)
    return change


def scaled(trace: Trace, text: str) -> Change:
    """A subject with its time multiplied: `SUBJECT=FACTOR`.

    Raises:
        UserError: The text is no such thing, or no event is meant by it.
    """
    subject, equals, number = text.rpartition("=")
    try:
        factor = float(number)
    except ValueError:
        factor = math.nan
    if not equals or not 0 <= factor < math.inf:
        raise UserError(
            said("{text!r} is no change", text=text), hint="write SUBJECT=FACTOR, such as kernel:gemm=0.5 or host=0.8"
        )
    return _multiplied(trace, subject, factor)


def removed(trace: Trace, text: str) -> Change:
    """A subject with its time removed; `sync` means that the host no longer waits for the device.

    Raises:
        UserError: There is no such subject, or no event is meant by it.
    """
    name, _, what = text.partition(":")
    if name == "sync":
        return Change(unblocked=_some(synchronising(trace, what), text))
    gone = _multiplied(trace, text, 0.0)
    if name == "allocation":  # a call that is not made does not wait either
        return gone + Change(unblocked=gone.host[0].events)
    return gone


def overlapped(trace: Trace, text: str) -> Change:
    """Communication or copies that overlap fully with other work.

    Raises:
        UserError: It is neither of both, or the trace has none of them.
    """
    name, _, what = text.partition(":")
    if name not in _OVERLAPPING:
        raise UserError(said("{text!r} can't be overlapped", text=text), hint=choose(name, _OVERLAPPING))
    events = _some(SUBJECTS[name].select(trace, what), text)
    return Change(overlapped=events)


def _multiplied(trace: Trace, text: str, factor: float) -> Change:
    name, _, what = text.partition(":")
    subject = SUBJECTS.get(name)
    if subject is None:
        raise UserError(
            said("nothing is called {name!r}", name=name), hint=choose(name, (*SUBJECTS, "sync (to remove)"))
        )
    events = _some(subject.select(trace, what), text)
    if name == "comm" and factor:
        return _faster_transfers(trace, events, factor)
    if subject.where == DEVICE:
        return Change(device=(Scaled(events, factor),))
    host = Change(host=(Scaled(events, factor),))
    if subject.where == BOTH:
        return host + Change(device=(Scaled(launched_within(trace, events), factor),))
    return host


def _faster_transfers(trace: Trace, events: Events, factor: float) -> Change:
    """Scale the transfer of collectives; how long they wait for other ranks stays."""
    built = StepGraph.of(trace).built
    whole = built.activities.end - built.activities.ts
    moving = moving_ns(built.peers, built.activities)
    share = np.divide(moving * factor + whole - moving, whole, out=np.ones(whole.size), where=whole > 0)
    chosen = np.isin(built.activities.event, events)
    return Change(device=scaled_each(built.activities.event[chosen], share[chosen], 1000))


def _some(events: Events, text: str) -> Events:
    if not events.size:
        raise UserError(
            said("the recording has no {text!r}", text=text),
            hint="give a name, a part of one, or a pattern in which * and ? stand for others",
        )
    return events


def launched_within(trace: Trace, events: Events) -> Events:
    """Device activities launched, or queued for another thread to launch, during one of these events."""
    spans, launches = Spans(trace), trace.once(all_launches)
    rows = spans.rows(events)
    rows = rows[rows >= 0]
    tracks, starts, ends = spans.track[rows], spans.ts[rows], spans.ts[rows] + spans.dur[rows]
    found = [np.zeros(0, np.int64)]
    for track in np.unique(tracks).tolist():
        mine, those = tracks == track, launches.track == track
        covered = Intervals.union_of(starts[mine], ends[mine])
        found.append(launches.event[those][covered.at(launches.ts[those])])
    return np.unique(np.concatenate(found))


class Launches(NamedTuple):
    """Device activities, and the thread and time of their launch."""

    event: Events
    track: NDArray[np.int32]
    ts: Times


def all_launches(trace: Trace) -> Launches:
    """Activities by launching thread, and again by the thread that handed the launch over: both launched them."""
    work, tasks = DeviceWork.of(trace), trace.once(handed)
    mine = work.launched & ~work.are("sync")
    event, track, ts = work.event[mine], work.thread[mine], work.called[mine]
    parts = [Launches(event, track, ts)]
    for taker in np.unique(tasks.taker).tolist():
        its = np.flatnonzero(tasks.taker == taker)
        its = its[np.argsort(tasks.taken[its], kind="stable")]
        own = np.flatnonzero(track == taker)
        last = np.searchsorted(tasks.taken[its], ts[own], side="right") - 1
        own, last = own[last >= 0], its[last[last >= 0]]
        inside = ts[own] < tasks.done[last]
        parts.append(Launches(event[own[inside]], tasks.giver[last[inside]], tasks.given[last[inside]]))
    return Launches(*(np.concatenate(column) for column in zip(*parts, strict=True)))
