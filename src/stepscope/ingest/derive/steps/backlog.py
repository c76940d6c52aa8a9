"""Backlog: work launched before the recording that the device still ran when the recording started."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from stepscope.ingest.derive.activities import SYNC, DerivedWork

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: The first device work starts some 10 µs after its launch. If it takes longer than this, and than this share of the
#: step, it waited for unrecorded earlier work or the first use of the device. (A host task queue, as torch_npu's, may
#: delay a launch by some 10 % of a step.)
_LATE_NS: Final = 1_000_000
_LATE: Final = 0.2
_LITTLE: Final = 0.05


def backlog(by_track: NDArray[np.int64], track: NDArray[Any], launched: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Whether each activity was launched before the recording started, bool[n].

    These are the activities of a queue before its first one with a recorded launch.

    Args:
        by_track: int64[n], positions sorted by track, then by time.
        track: int32[n] or int64[n].
        launched: bool[n], whether the launch is recorded; False for synchronisations, which CUPTI records when they
            are asked for, however much work is queued before them.
    """
    found = np.zeros(track.size, np.bool_)
    for queue in np.split(by_track, np.flatnonzero(np.diff(track[by_track])) + 1):
        first = np.flatnonzero(launched[queue])
        if first.size:
            found[queue[: first[0]]] = True
    return found


def backlog_end(activities: DerivedWork, step_ns: int) -> int | None:
    """End of the backlog on the device in ns; None if there was none.

    Args:
        activities: All device activities.
        step_ns: Length of the first step from its start on the host, in ns.
    """
    working = activities.kind != SYNC
    earlier = backlog(activities.by_track, activities.track, (activities.launch >= 0) & working)
    end: int | None = None
    if (earlier & working).any():
        end = int((activities.ts + activities.dur)[earlier & working].max())
    late = _late_start(activities, np.flatnonzero(working & (activities.launch >= 0)), step_ns)
    return end if late is None or (end is not None and end >= late - _LATE_NS) else late


def _late_start(activities: DerivedWork, launched: NDArray[np.int64], step_ns: int) -> int | None:
    """Start of the first work that waited long in its queue with the device idle as recorded; None if there is none.

    Only little work of other queues may precede it.
    """
    order = launched[np.argsort(activities.ts[launched], kind="stable")]
    if not order.size:
        return None
    ts, dur = activities.ts[order], activities.dur[order]
    done = np.cumsum(dur)
    early = done - dur <= _LITTLE * done[-1]
    reach = np.maximum.accumulate(np.concatenate((activities.launch_ts[order[:1]], (ts + dur)[:-1])))
    waited = ts - np.maximum(reach, activities.launch_ts[order])
    late = np.flatnonzero(early & (waited > max(_LATE_NS, _LATE * step_ns)))
    return int(ts[late[-1]]) if late.size else None
