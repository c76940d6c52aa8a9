"""The device work that each blocking host call waits for."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stepscope.analyses.stepgraph.building import device_activities, host_calls
from stepscope.analyses.stepgraph.building.device_activities import GraphActivities
from stepscope.analyses.stepgraph.building.host_calls import GraphCalls
from stepscope.analyses.stepgraph.building.queues import QueueActivities
from stepscope.model.intervals import Times
from stepscope.model.runtime_names import SCOPES

_DEVICE, _STREAM, _EVENT = (SCOPES.index(scope) for scope in ("device", "stream", "event"))
#: Time of a blocking call itself, and of its return once the device is done, where the recording does not show it.
_NEVER = -(1 << 62)
#: Clocks of host and device differ by some µs: a call may seem to return before what it waited for has ended, by so
#: much, and by no more than this part of its own time.
_SKEW_NS = 50_000
_SKEW_SHARE = 10
_PROMPT = 2
_OWN_NS = 2_000
_RETURN_NS = 5_000


@dataclass(frozen=True, slots=True)
class CallWaits:
    """What calls wait for.

    Attributes:
        call: int64[m], positions in `GraphCalls`, ascending.
        activity: int64[m], what each waits for; a call may occur several times.
        own: int64[calls], time that each call would take if it had nothing to wait for.
        usual_return: From the end of what a call waits for to its own end.
    """

    call: NDArray[np.int64]
    activity: NDArray[np.int64]
    own: Times
    usual_return: int


def find_waits(activities: GraphActivities, queues: list[QueueActivities], calls: GraphCalls) -> CallWaits:
    """What each call waits for; nothing where the device was done before the call, or is not done when it returns."""
    waiting = np.flatnonzero(np.isin(calls.role, (host_calls.WAIT, host_calls.ALLOCATION)))
    drained, reached = _work_before(activities, queues, calls, waiting)
    chosen = _choose(activities, queues, calls, waiting, drained)
    position, queue = np.nonzero(chosen)
    call, activity = waiting[position], reached[position, queue]
    copies, copied = _blocking_copies(activities, calls)
    call, activity = np.concatenate((call, copies)), np.concatenate((activity, copied))
    order = np.lexsort((activity, call))
    call, activity = call[order], activity[order]
    late = np.full(calls.id.size, _NEVER)
    np.maximum.at(late, call, activities.end[activity])
    real = late > calls.ts
    returns = (calls.end - late)[real & (calls.role != host_calls.ALLOCATION)]
    usual = int(np.median(returns)) if returns.size else _RETURN_NS
    # An allocation that goes on for long after the device was done has not waited for it.
    real &= (calls.role != host_calls.ALLOCATION) | (calls.end - late <= _PROMPT * usual)
    kept = real[call] | (calls.role[call] != host_calls.ALLOCATION)
    return CallWaits(call[kept], activity[kept], _own(calls, real, launching_kernels(activities, calls)), usual)


def _work_before(
    activities: GraphActivities, queues: list[QueueActivities], calls: GraphCalls, waiting: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """When each queue is done with the work launched before each call, and the activity that shows it.

    -1 stands for a queue that is not done when the call returns, or has no such work.
    """
    drained = np.full((waiting.size, len(queues)), -1)
    reached = np.full((waiting.size, len(queues)), -1)
    returned = calls.end[waiting] + _skew(calls, waiting)
    event = (calls.scope[waiting] == _EVENT) & (calls.role[waiting] == host_calls.WAIT)
    for number, queue in enumerate(queues):
        count = queue.launched_before(calls.ts[waiting])
        # An event may be older than what was launched last: then all that came before it was done at the return.
        ended = np.searchsorted(activities.end[queue.latest], returned, side="right")
        count[event] = np.minimum(count, ended)[event]
        some = np.flatnonzero(count > 0)
        last = queue.latest[count[some] - 1]
        end = activities.end[last]
        done = end <= returned[some]
        drained[some[done], number] = end[done]
        reached[some[done], number] = last[done]
    return drained, reached


def _skew(calls: GraphCalls, waiting: NDArray[np.int64]) -> Times:
    """Upper bound of how far the device's clock is ahead when each call returns, ns."""
    skew: Times = np.minimum((calls.end - calls.ts)[waiting] // _SKEW_SHARE, _SKEW_NS)
    return skew


def _choose(
    activities: GraphActivities,
    queues: list[QueueActivities],
    calls: GraphCalls,
    waiting: NDArray[np.int64],
    drained: NDArray[np.int64],
) -> NDArray[np.bool_]:
    """Which queues each call waits for, bool[waiting, queues]."""
    done = drained >= 0
    if not queues:
        return done
    role, scope = calls.role[waiting], calls.scope[waiting]
    latest = np.zeros_like(done)
    latest[np.arange(waiting.size), drained.argmax(axis=1)] = True
    latest &= done
    waited = drained.max(axis=1) > calls.ts[waiting]
    chosen = done.copy()
    preferred = _preferred(activities, queues, calls, waiting) & done
    told = np.asarray(preferred.any(axis=1), np.bool_)
    one = (scope == _STREAM) & (role == host_calls.WAIT)
    chosen[one] = np.where(told[one, None], preferred[one], latest[one])
    event = (scope == _EVENT) & (role == host_calls.WAIT)
    chosen[event] = latest[event] & waited[event, None]
    allocation = role == host_calls.ALLOCATION
    everything = np.asarray((done | ~_launched(queues, calls, waiting)).all(axis=1), np.bool_)
    chosen[allocation] &= (waited & everything)[allocation, None]
    return _first_seen(chosen, drained, (scope == _DEVICE) & (role == host_calls.WAIT))


def _launched(queues: list[QueueActivities], calls: GraphCalls, waiting: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Whether each queue had work before each call."""
    return np.stack([queue.launched_before(calls.ts[waiting]) > 0 for queue in queues], axis=1)


def _preferred(
    activities: GraphActivities, queues: list[QueueActivities], calls: GraphCalls, waiting: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """The queue that a call names, else the one on which its thread launched last."""
    tracks = np.array([queue.track for queue in queues])
    wanted = calls.queue[waiting].astype(np.int64)
    wanted[~np.isin(wanted, tracks)] = -1
    for thread in np.unique(calls.track[waiting]).tolist():
        mine = np.flatnonzero(activities.thread == thread)
        order = mine[np.argsort(activities.called[mine], kind="stable")]
        those = np.flatnonzero((calls.track[waiting] == thread) & (wanted < 0))
        last = np.searchsorted(activities.called[order], calls.ts[waiting[those]], side="left") - 1
        seen = last >= 0
        wanted[those[seen]] = activities.track[order[last[seen]]]
    same: NDArray[np.bool_] = wanted[:, None] == tracks
    return same


def _first_seen(chosen: NDArray[np.bool_], drained: NDArray[np.int64], whole: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Drop waits for work that an earlier call of the same kind had already waited for."""
    at = np.flatnonzero(whole)
    for queue in range(chosen.shape[1]):
        mine = at[chosen[at, queue]]
        again = np.append(False, np.diff(drained[mine, queue]) == 0)[: mine.size]
        chosen[mine[again], queue] = False
    return chosen


def _blocking_copies(activities: GraphActivities, calls: GraphCalls) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Calls that wait for what they copy, and the copies."""
    copies = np.flatnonzero(activities.blocking)
    call = calls.find(activities.launch[copies])
    return call[call >= 0], copies[call >= 0]


def launching_kernels(activities: GraphActivities, calls: GraphCalls) -> NDArray[np.bool_]:
    """Calls that launch kernels, bool[calls]. Calls that launch copies are left out: their time includes staging."""
    found = np.zeros(calls.id.size, np.bool_)
    call = calls.find(activities.launch[np.isin(activities.kind, (device_activities.COMPUTE, device_activities.COMM))])
    found[call[call >= 0]] = True
    return found


def _own(calls: GraphCalls, waited: NDArray[np.bool_], kernels: NDArray[np.bool_]) -> Times:
    """Duration of each call without waiting: as recorded, or, for calls that waited, the usual one of the same call."""
    own = calls.end - calls.ts
    launches = own[kernels & ~waited]
    launch = int(np.median(launches)) if launches.size else _OWN_NS
    for name in np.unique(calls.name[waited]).tolist():
        same = calls.name == name
        idle = own[same & ~waited]
        mine = same & waited
        usual = launch if calls.role[mine][0] == host_calls.LAUNCH else _OWN_NS
        usual = int(np.median(idle)) if idle.size else usual
        own[mine] = np.minimum(own[mine], usual)
    return own
