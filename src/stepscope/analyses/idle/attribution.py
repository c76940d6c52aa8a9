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
_DISPATCH = np.array([causes.CALL, causes.OP, causes.PYTHON, causes.OTHER])
#: What a thread does that calls nothing of the device, and what it does while it waits for the device or launches.
_AT_WORK = np.array([causes.OP, causes.PYTHON, causes.OTHER])
_WAITING = np.array([causes.BLOCKED, causes.CALL, causes.QUEUED])


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
    no_launch = gaps.started[gap] & (gaps.thread[gap] < 0)
    cause[no_launch & np.isin(cause, [*_DISPATCH, causes.GC])] = causes.NO_LAUNCH
    # What starts while the host is blocked had been launched before.
    cause[no_launch & (cause == causes.BLOCKED) & (found.ends == gaps.ends[gap])] = causes.QUEUED
    return found.starts, found.ends, gap, cause


def _during_launch(gaps: Gaps, hosts: HostStates) -> Part:
    """Cause during the launch call: the call itself, or the profiler inside it."""
    called = np.flatnonzero(gaps.call_ends > gaps.call_starts)
    tiles = hosts.overhead_timeline(int(gaps.starts.min(initial=0)), int(gaps.ends.max(initial=0)))
    starts, ends, index, tile = overlay(gaps.call_starts[called], gaps.call_ends[called], tiles[0], tiles[1])
    long = gaps.call_ends[called[index]] - gaps.call_starts[called[index]] >= LOADING_NS
    call = np.where(gaps.fresh[called[index]] & long, causes.FIRST, causes.CALL)
    return starts, ends, called[index], np.where(tiles[2][tile] == 0, causes.PROFILER, call)


def _after_launch(gaps: Gaps) -> Part:
    """Cause between the launch and the starter's start."""
    waiting = np.flatnonzero(gaps.ends > gaps.call_ends)
    return gaps.call_ends[waiting], gaps.ends[waiting], waiting, _WAIT_LABELS[gaps.why[waiting]]


def _charge_refill(gaps: Gaps, starts: Times, gap: NDArray[np.int64], cause: NDArray[np.int64]) -> NDArray[np.int64]:
    """Mark the host's work between a blocking wait, in which a gap started, and the launch as refill."""
    drained = np.zeros(gaps.starts.size, np.bool_)
    drained[gap[(cause == causes.BLOCKED) & (starts == gaps.starts[gap])]] = True
    return np.where(drained[gap] & np.isin(cause, _DISPATCH), causes.REFILL, cause)


def long_parts(parts: IdleParts, work: Intervals, unseen: Intervals, first: Intervals) -> IdleParts:
    """Cut out parts in which the host does work of its own, waits for unrecorded work, or makes a long first call."""
    if not parts.starts.size or not (len(work) or len(unseen) or len(first)):
        return parts
    lo, hi = int(parts.starts.min()), int(parts.ends.max())
    tile_starts, tile_ends, label = partition([unseen, work, first], lo, hi)
    starts, ends, part, tile = overlay(parts.starts, parts.ends, tile_starts, tile_ends)
    cause, what = parts.cause[part], label[tile]
    cause = np.where((what == 0) & np.isin(cause, _WAITING), causes.UNSEEN, cause)
    cause = np.where((what == 1) & np.isin(cause, [*_AT_WORK, causes.REFILL]), causes.WORK, cause)
    cause = np.where((what == 2) & np.isin(cause, [causes.CALL, causes.REFILL, *_AT_WORK]), causes.FIRST, cause)
    return IdleParts(starts, ends, parts.gap[part], cause)


def behind_nothing(parts: IdleParts, busy: Intervals) -> IdleParts:
    """Mark long waits of device work for other work, while no device is active, as unrecorded work.

    So is a long delay from launch to start before all recorded work: a batch was launched before the recording started.
    """
    first = int(busy.starts[0]) if len(busy) else 0
    waits = np.isin(parts.cause, [causes.EVENT, causes.STREAM])
    waits |= np.isin(parts.cause, [causes.DELAYED, causes.EMPTY, causes.QUEUED]) & (parts.ends <= first)
    waits &= (parts.ends - parts.starts >= UNSEEN_NS) & (busy.within(parts.starts, parts.ends) == 0)
    return IdleParts(parts.starts, parts.ends, parts.gap, np.where(waits, causes.UNSEEN, parts.cause))
