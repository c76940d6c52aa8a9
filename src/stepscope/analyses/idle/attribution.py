"""Divide the gaps of a device among the causes of idleness, each nanosecond to one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stepscope.analyses.idle import causes
from stepscope.analyses.idle import idle_gaps as late
from stepscope.analyses.idle.causes import Causes
from stepscope.analyses.idle.host_work import LOADING_NS
from stepscope.analyses.idle.idle_gaps import Gaps
from stepscope.analyses.shared import host_states as host
from stepscope.analyses.shared.host_states import HostStates
from stepscope.model.intervals import Times
from stepscope.model.partition import overlay

Part = tuple[Times, Times, NDArray[np.int64], Causes]
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
_LABELS = np.array([_OF_STATE[state] for state in sorted(_OF_STATE)], np.int8)
_OF_WAIT = {
    late.EMPTY_QUEUE: causes.EMPTY,
    late.QUEUED: causes.QUEUED,
    late.EVENT: causes.EVENT,
    late.OTHER_STREAM: causes.STREAM,
    late.DELAYED: causes.DELAYED,
}
_WAIT_LABELS = np.array([_OF_WAIT[why] for why in sorted(_OF_WAIT)], np.int8)
_DISPATCH = causes.are(causes.CALL, causes.OP, causes.PYTHON, causes.OTHER)
_NOT_BLOCKED = _DISPATCH | causes.are(causes.GC)


@dataclass(frozen=True, slots=True)
class IdleParts:
    """Stretches of idle time, each of one gap and one cause (an index into `CAUSES`)."""

    starts: Times
    ends: Times
    gap: NDArray[np.int32]
    cause: Causes


def explain(gaps: Gaps, hosts: HostStates | None) -> IdleParts:
    """Cut gaps into parts of one cause each, which cover them exactly."""
    if hosts is None:
        nothing = np.full(gaps.starts.size, causes.NO_HOST, np.int8)
        return IdleParts(gaps.starts, gaps.ends, np.arange(gaps.starts.size, dtype=np.int32), nothing)
    parts = [_before_launch(gaps, hosts), _during_launch(gaps, hosts), _after_launch(gaps)]
    starts, ends = (np.concatenate([part[edge] for part in parts]) for edge in (0, 1))
    gap = np.concatenate([part[2] for part in parts], dtype=np.int32, casting="same_kind")
    cause = np.concatenate([part[3] for part in parts])
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
    call = np.full(called.size, causes.CALL, np.int8)
    call[gaps.fresh[called] & (ends - starts >= LOADING_NS)] = causes.FIRST
    if not len(hosts.overhead):
        return starts, ends, called, call
    tiles = hosts.overhead_timeline(int(gaps.starts.min(initial=0)), int(gaps.ends.max(initial=0)))
    starts, ends, index, tile = overlay(starts, ends, tiles[0], tiles[1])
    return starts, ends, called[index], np.where(tiles[2][tile] == 0, causes.PROFILER, call[index])


def _after_launch(gaps: Gaps) -> Part:
    """Cause between the launch and the starter's start."""
    waiting = np.flatnonzero(gaps.ends > gaps.call_ends)
    return gaps.call_ends[waiting], gaps.ends[waiting], waiting, _WAIT_LABELS[gaps.why[waiting]]


def _charge_refill(gaps: Gaps, starts: Times, gap: NDArray[np.int32], cause: Causes) -> Causes:
    """Mark the host's work between a blocking wait, in which a gap started, and the launch as refill."""
    drained = np.zeros(gaps.starts.size, np.bool_)
    blocked = np.flatnonzero(cause == causes.BLOCKED)
    drained[gap[blocked[starts[blocked] == gaps.starts[gap[blocked]]]]] = True
    if drained.any():
        cause[drained[gap] & _DISPATCH[cause]] = causes.REFILL
    return cause
