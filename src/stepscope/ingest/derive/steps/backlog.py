"""Work of before the recording: what the device still had to do when it began, recorded or not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from stepscope.ingest.derive.activities import SYNC, Activities

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: The first device work of a recording starts some 10 µs after its launch. Where it takes longer than this, and than
#: this share of the step, earlier work that is not recorded was in its way, or the first use of the device took the
#: time. (Task queues of the host's own may hold a launch back for some 10 % of a step.)
_LATE_NS: Final = 1_000_000
_LATE: Final = 0.2
_LITTLE: Final = 0.05


def backlog(by_track: NDArray[np.int64], track: NDArray[Any], launched: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Which activities were launched before the recording began, bool[n].

    On a queue whose launches are recorded these are the first ones, up to the first that has one.

    Args:
        by_track: int64[n], positions by track, and then by time.
        track: int32[n] or int64[n].
        launched: bool[n], whether the launch is recorded.
    """
    found = np.zeros(track.size, np.bool_)
    for queue in np.split(by_track, np.flatnonzero(np.diff(track[by_track])) + 1):
        first = np.flatnonzero(launched[queue])
        if first.size:
            found[queue[: first[0]]] = True
    return found


def backlog_end(activities: Activities, step_ns: int) -> int | None:
    """When the device was done with work of before the recording; None if it had none.

    Args:
        activities: All of them.
        step_ns: What the first step would take from its begin on the host.
    """
    earlier = backlog(activities.by_track, activities.track, activities.launch >= 0)
    working = activities.kind != SYNC
    end: int | None = None
    if (earlier & working).any():
        end = int((activities.ts + activities.dur)[earlier & working].max())
    late = _late_start(activities, np.flatnonzero(working & (activities.launch >= 0)), step_ns)
    return end if late is None or (end is not None and end >= late - _LATE_NS) else late


def _late_start(activities: Activities, launched: NDArray[np.int64], step_ns: int) -> int | None:
    """When work began that had waited in its queue for long while the device did nothing that is recorded.

    Little may have run before that: what another queue had not to wait with.
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
