"""Health checks: links from device work to the launching host calls."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from stepscope.ingest.derive.activities import SYNC, DerivedWork
from stepscope.ingest.derive.checks.derived import Derived, share
from stepscope.language import said
from stepscope.model.amounts import duration
from stepscope.store.staging import Observation

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: Share of launches that normally have no device work: empty copies, and those after the last record.
_LOST_SHARE: Final = 0.02
_MIGRATIONS_SQL: Final = "SELECT event FROM copies WHERE src_kind = 'managed' AND dst_kind = 'managed'"
#: Device work with a correlation id from before the first recorded launch.
_LOWER_SQL: Final = """
SELECT e.id FROM raw_kernels k JOIN raw_events e ON e.id = k.event WHERE e.correlation > 0 AND e.correlation < $first
"""
#: Share of device time in graphs below which no line is written.
_GRAPH_SHARE: Final = 0.01


def warm_up(derived: Derived) -> Observation | None:
    """Work launched before the recording started."""
    count = int(np.count_nonzero(_warm_up(derived)))
    if not count:
        return None
    return Observation(
        "warm-up-leaked", "warning", count, "device activities without a launch lie before the first step",
        "they belong to no step, but count in numbers over the whole recording",
    )  # fmt: skip


def launched_before(derived: Derived) -> Observation | None:
    """Work queued before the recording of the host started."""
    count = int(np.count_nonzero(_early(derived) & ~_warm_up(derived) & ~_migrations(derived)))
    of = int(np.count_nonzero(derived.activities.kind != SYNC))
    if not count:
        return None
    return Observation(
        "kernels-launched-before", "info", count,
        said("device activities ({share}) were launched before the recording began", share=share(count, of)),
        "their launch delay is unknown, and so is their operator unless it is recorded otherwise",
    )  # fmt: skip


def kernels_without_launch(derived: Derived) -> Observation | None:
    """Work whose launch is not recorded, apart from work launched before the recording."""
    explained = _early(derived) | _warm_up(derived) | _migrations(derived)
    count = int(np.count_nonzero(_unlaunched(derived.activities) & ~explained))
    of = int(np.count_nonzero(derived.activities.kind != SYNC))
    if not count:
        return None
    return Observation(
        "kernels-without-launch", "warning", count,
        said("device activities ({share}) have no launch on the host", share=share(count, of)),
        "their launch delay is unknown, and so is their operator unless it is recorded otherwise",
    )  # fmt: skip


def queued_at_end(derived: Derived) -> Observation | None:
    """Launches whose work was still in its queue when the recording ended."""
    waiting = _waiting(derived)
    if not waiting:
        return None
    return Observation(
        "launches-still-queued", "info", waiting,
        said("launches ({share}) were still in the queue when the recording "
             "ended", share=share(waiting, derived.launches.number)),
        "their work is not in it: the host is ahead of the device",
    )  # fmt: skip


def launches_without_kernel(derived: Derived) -> Observation | None:
    """Launches without recorded work, in a recording with other device work."""
    of, lost = derived.launches.number, derived.launches.alone - _waiting(derived)
    if not lost or not derived.activities.event.size:
        return None
    many = lost > _LOST_SHARE * of
    return Observation(
        "launches-without-kernel", "warning" if many else "info", lost,
        said("launches ({share}) have no device activity", share=share(lost, of)),
        "device time is too low if the profiler lost their records" if many else "device time may be slightly too low",
    )  # fmt: skip


def starts_before_launch(derived: Derived) -> Observation | None:
    """Work that starts before its launch: the clocks of host and device disagree."""
    found = derived.activities
    before = np.flatnonzero((found.launch >= 0) & (found.ts < found.launch_ts))
    if not before.size:
        return None
    worst = int((found.launch_ts[before] - found.ts[before]).max())
    return Observation(
        "kernels-before-launch", "warning", before.size,
        said("device activities start before their launch, by up to {worst}", worst=duration(worst)),
        "the clocks of host and device disagree by at least that: launch delays and idle causes are approximate",
    )  # fmt: skip


def graphs(derived: Derived) -> Observation | None:
    """Work launched by graphs, whose operators are not recorded."""
    found = derived.activities
    work = found.kind != SYNC
    inside = work & found.in_graph
    count = int(np.count_nonzero(inside))
    in_graphs, whole = int(found.dur[inside].sum()), int(found.dur[work].sum())
    if not count or in_graphs < _GRAPH_SHARE * whole:
        return None
    return Observation(
        "graphs-unattributed", "info", count,
        said("device activities ({share} of device time) were launched by graphs", share=share(in_graphs, whole)),
        "their operators are unknown; record a few steps without graphs to learn them",
    )  # fmt: skip


def _unlaunched(activities: DerivedWork) -> NDArray[np.bool_]:
    """Whether the launch of each activity is missing, bool[n]."""
    found: NDArray[np.bool_] = (activities.launch < 0) & (activities.kind != SYNC)
    return found


def _warm_up(derived: Derived) -> NDArray[np.bool_]:
    """Whether each activity has no launch and precedes the first step marked by the profiler, bool[n]."""
    steps, found = derived.steps, derived.activities
    start = int(steps.starts[0]) if steps.source == "profiler" and steps.starts.size else 0
    return _unlaunched(found) & (found.ts + found.dur <= start)


def _migrations(derived: Derived) -> NDArray[np.bool_]:
    """Whether each activity is a migration of managed memory, which the driver makes without a launch, bool[n]."""
    if not derived.staging.may_have("copies"):
        return np.zeros(derived.activities.event.size, np.bool_)
    moved = derived.staging.connection.execute(_MIGRATIONS_SQL).fetchnumpy()["event"]
    found: NDArray[np.bool_] = np.isin(derived.activities.event, moved)
    return found


def _early(derived: Derived) -> NDArray[np.bool_]:
    """Whether each activity has no launch, and precedes the first on its queue with one or the first launch, bool[n].

    Queues are first in, first out, and correlation ids count upwards.
    """
    activities = derived.activities
    launched = activities.launch >= 0
    first = np.full(int(activities.track.max(initial=-1)) + 1, np.iinfo(np.int64).min)
    # Reversed, since the last assignment to a place wins and the earliest activity is wanted.
    first[activities.track[launched][::-1]] = activities.ts[launched][::-1]
    before: NDArray[np.bool_] = activities.ts < first[activities.track]
    without = _unlaunched(activities)
    if (without & ~before).any():
        rows = derived.staging.connection.execute(_LOWER_SQL, {"first": derived.launches.first}).fetchnumpy()["id"]
        before = before | np.isin(activities.event, rows)
    return before & without


def _waiting(derived: Derived) -> int:
    """Number of launches at the end whose work had not begun: the device was at work until after they were made."""
    found, launches = derived.activities, derived.launches
    busy = int((found.ts + found.dur)[found.kind != SYNC].max(initial=0))
    return launches.behind if busy >= launches.latest else 0
