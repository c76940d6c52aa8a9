"""Divide the gaps of a device among the causes of idleness, each nanosecond to one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stepscope.analyses.idle import causes
from stepscope.analyses.idle import idle_gaps as late
from stepscope.analyses.idle.host_work import LOADING_NS, UNSEEN_NS
from stepscope.analyses.idle.idle_gaps import Gaps
from stepscope.analyses.shared import host_states as host
from stepscope.analyses.shared.host_states import HostStates
from stepscope.model.intervals import Intervals, Times
from stepscope.model.partition import overlay, partition

Part = tuple[Times, Times, NDArray[np.int64], NDArray[np.int64]]
_OF_STATE = {
    host.SYNC: causes.BLOCKED,
    host.ALLOCATION: causes.ALLOCATION,
    host.GC: causes.GC,
    host.OVERHEAD: causes.PROFILER,
    host.DATA: causes.DATA,
    host.RUNTIME: causes.CALL,
    host.OP: causes.OP,
    host.PYTHON: causes.PYTHON,
    host.OTHER: causes.OTHER,
    host.SILENT: causes.NO_HOST,
}
_LABELS = np.array([_OF_STATE[state] for state in sorted(_OF_STATE)])
_OF_WAIT = {
    late.EMPTY_QUEUE: causes.EMPTY,
    late.QUEUED: causes.QUEUED,
    late.EVENT: causes.EVENT,
    late.OTHER_STREAM: causes.STREAM,
    late.DELAYED: causes.DELAYED,
}
_WAIT_LABELS = np.array([_OF_WAIT[why] for why in sorted(_OF_WAIT)])


def _are(*some: int) -> NDArray[np.bool_]:
    """Which causes these are, as a table to look causes up in, which is quicker than `np.isin`."""
    return np.isin(np.arange(len(causes.CAUSES)), some)


_DISPATCH = _are(causes.CALL, causes.OP, causes.PYTHON, causes.OTHER)
_NOT_BLOCKED = _DISPATCH | _are(causes.GC)
#: What a thread does that calls nothing of the device, and what it does while it waits for the device or launches.
_AT_WORK = _are(causes.OP, causes.PYTHON, causes.OTHER)
_WAITING = _are(causes.BLOCKED, causes.CALL, causes.QUEUED)
_FOR_OTHERS = _are(causes.EVENT, causes.STREAM)
_TO_START = _are(causes.DELAYED, causes.EMPTY, causes.QUEUED)


@dataclass(frozen=True, slots=True)
class IdleParts:
    """Stretches of idle time, each of one gap and one cause (an index into `CAUSES`)."""

    starts: Times
    ends: Times
    gap: NDArray[np.int64]
    cause: NDArray[np.int64]


def explain(gaps: Gaps, hosts: HostStates | None) -> IdleParts:
    """Cut gaps into parts of one cause each, which cover them exactly."""
    if hosts is None:
        nothing = np.full(gaps.starts.size, causes.NO_HOST)
        return IdleParts(gaps.starts, gaps.ends, np.arange(gaps.starts.size), nothing)
    parts = [_before_launch(gaps, hosts), _during_launch(gaps, hosts), _after_launch(gaps)]
    starts, ends, gap, cause = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    return IdleParts(starts, ends, gap, _charge_refill(gaps, starts, gap, cause))


def _before_launch(gaps: Gaps, hosts: HostStates) -> Part:
    """Cause before the launch call: the state of the host's threads."""
    late = np.flatnonzero(gaps.call_starts > gaps.starts)
    found = hosts.cut(gaps.thread[late], gaps.starts[late], gaps.call_starts[late])
    gap, cause = late[found.interval], _LABELS[found.state]
    no_launch = gaps.started & (gaps.thread < 0)
    if no_launch.any():
        no_launch = no_launch[gap]
        cause[no_launch & _NOT_BLOCKED[cause]] = causes.NO_LAUNCH
        # What starts while the host is blocked had been launched before.
        cause[no_launch & (cause == causes.BLOCKED) & (found.ends == gaps.ends[gap])] = causes.QUEUED
    return found.starts, found.ends, gap, cause


def _during_launch(gaps: Gaps, hosts: HostStates) -> Part:
    """Cause during the launch call: the call itself, or the profiler inside it."""
    called = np.flatnonzero(gaps.call_ends > gaps.call_starts)
    starts, ends = gaps.call_starts[called], gaps.call_ends[called]
    call = np.where(gaps.fresh[called] & (ends - starts >= LOADING_NS), causes.FIRST, causes.CALL)
    if not len(hosts.overhead):
        return starts, ends, called, call
    tiles = hosts.overhead_timeline(int(gaps.starts.min(initial=0)), int(gaps.ends.max(initial=0)))
    starts, ends, index, tile = overlay(starts, ends, tiles[0], tiles[1])
    return starts, ends, called[index], np.where(tiles[2][tile] == 0, causes.PROFILER, call[index])


def _after_launch(gaps: Gaps) -> Part:
    """Cause between the launch and the starter's start."""
    waiting = np.flatnonzero(gaps.ends > gaps.call_ends)
    return gaps.call_ends[waiting], gaps.ends[waiting], waiting, _WAIT_LABELS[gaps.why[waiting]]


def _charge_refill(gaps: Gaps, starts: Times, gap: NDArray[np.int64], cause: NDArray[np.int64]) -> NDArray[np.int64]:
    """Mark the host's work between a blocking wait, in which a gap started, and the launch as refill."""
    drained = np.zeros(gaps.starts.size, np.bool_)
    blocked = np.flatnonzero(cause == causes.BLOCKED)
    drained[gap[blocked[starts[blocked] == gaps.starts[gap[blocked]]]]] = True
    if drained.any():
        cause[drained[gap] & _DISPATCH[cause]] = causes.REFILL
    return cause


def long_parts(parts: IdleParts, work: Intervals, unseen: Intervals, first: Intervals) -> IdleParts:
    """Cut out parts in which the host does work of its own, waits for unrecorded work, or makes a long first call."""
    if not parts.starts.size or not (len(work) or len(unseen) or len(first)):
        return parts
    # Most are out of reach of all these, or within one: few are cut.
    some = Intervals.union_of_all((work, unseen, first))
    next_ = np.searchsorted(some.ends, parts.starts, side="right")
    at = np.flatnonzero(np.append(some.starts, np.iinfo(np.int64).max)[next_] < parts.ends)
    if not at.size:
        return parts
    tile_starts, tile_ends, label = partition([unseen, work, first], int(parts.starts.min()), int(parts.ends.max()))
    tile = np.searchsorted(tile_ends, parts.starts[at], side="right")
    cut = tile_ends[tile] < parts.ends[at]
    cause = parts.cause.copy()
    cause[at[~cut]] = _long(cause[at[~cut]], label[tile[~cut]])
    if not cut.any():
        return IdleParts(parts.starts, parts.ends, parts.gap, cause)
    at = at[cut]
    starts, ends, part, tile = overlay(parts.starts[at], parts.ends[at], tile_starts, tile_ends)
    part = at[part]
    count = np.ones(cause.size, np.int64)
    count[at] = np.bincount(part, minlength=cause.size)[at]
    source = np.repeat(np.arange(cause.size), count)
    mine = np.flatnonzero(count[source] > 1)
    found = IdleParts(parts.starts[source], parts.ends[source], parts.gap[source], cause[source])
    found.starts[mine], found.ends[mine], found.cause[mine] = starts, ends, _long(parts.cause[part], label[tile])
    return found


def _long(cause: NDArray[np.int64], what: NDArray[np.int64]) -> NDArray[np.int64]:
    """Causes of parts in which, by number, unrecorded work is waited for, own work is done or a first call is made."""
    cause = np.where((what == 0) & _WAITING[cause], causes.UNSEEN, cause)
    cause = np.where((what == 1) & (_AT_WORK[cause] | (cause == causes.REFILL)), causes.WORK, cause)
    called = _AT_WORK[cause] | (cause == causes.CALL) | (cause == causes.REFILL)
    return np.where((what == 2) & called, causes.FIRST, cause)


def behind_nothing(parts: IdleParts, busy: Intervals) -> IdleParts:
    """Mark long waits of device work for other work, while no device is active, as unrecorded work.

    So is a long delay from launch to start before all recorded work: a batch was launched before the recording started.
    """
    first = int(busy.starts[0]) if len(busy) else 0
    waits = _FOR_OTHERS[parts.cause] | _TO_START[parts.cause] & (parts.ends <= first)
    at = np.flatnonzero(waits & (parts.ends - parts.starts >= UNSEEN_NS))
    if not at.size:
        return parts
    cause = parts.cause.copy()
    cause[at[busy.within(parts.starts[at], parts.ends[at]) == 0]] = causes.UNSEEN
    return IdleParts(parts.starts, parts.ends, parts.gap, cause)
