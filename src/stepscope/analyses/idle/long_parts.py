"""Parts of idle time that are long: own work of the host, waits for work that is not recorded, and long first calls."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stepscope.analyses.idle import causes
from stepscope.analyses.idle.attribution import IdleParts
from stepscope.analyses.idle.causes import Causes
from stepscope.analyses.idle.host_work import UNSEEN_NS
from stepscope.model.intervals import Intervals
from stepscope.model.partition import overlay, partition

#: What a thread does that calls nothing of the device, and what it does while it waits for the device or launches.
_AT_WORK = causes.are(causes.OP, causes.PYTHON, causes.OTHER)
_WAITING = causes.are(causes.BLOCKED, causes.CALL, causes.QUEUED)
_FOR_OTHERS = causes.are(causes.EVENT, causes.STREAM)
_TO_START = causes.are(causes.DELAYED, causes.EMPTY, causes.QUEUED)


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


def _long(cause: Causes, what: NDArray[np.int64]) -> Causes:
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
