"""Managed memory: pages that migrate while kernels access them or the device does nothing else, and what that costs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stepscope.model.errors import MissingInputError
from stepscope.model.events.copies import DIRECTIONS, Copies
from stepscope.model.events.device_work import DeviceWork
from stepscope.model.intervals import Intervals
from stepscope.signals.copies.transfers import DTOH, HTOD, exposed_ns, in_most_steps, migrating, pinned_rate
from stepscope.signals.shared.job import recorded_steps, stepless
from stepscope.signals.shared.operations import Ids
from stepscope.signals.signal import Signals, signal

_TO_DEVICE, _TO_HOST = DIRECTIONS.index("HtoD"), DIRECTIONS.index("DtoH")
#: Between two migrations of one kernel the faults of the next pages are handled: some 20 to 50 us.
_FAULT_NS = 100_000


@dataclass(frozen=True, slots=True, eq=False)
class Migrations:
    """Pages that migrated to the device during n kernels, over all steps.

    Attributes:
        kernels: int64[n], events.
        stalled: int64[n], time from the first to the last migration in each, without pauses of more than 100 us, ns.
        saved: int64[n], what remains of that if the same bytes come in one copy before, ns.
        number: Migrations to the device inside these kernels.
        bytes: Their bytes.
        back: Bytes that migrated to the host, whenever that was.
        steps: Recorded steps.
        alone: Time in which pages migrate, either way, while devices compute nothing, ns.
        alone_saved: What remains of that if the same bytes come in one copy. Where it recurs in most steps, all:
            pages that stay where they are used need not move at all.
        alone_bytes: Bytes of migrations that begin then.
        alone_number: How many those are.
    """

    kernels: Ids
    stalled: Ids
    saved: Ids
    number: int
    bytes: int
    back: int
    steps: int
    alone: int = 0
    alone_saved: int = 0
    alone_bytes: int = 0
    alone_number: int = 0


@signal()
def migrations(s: Signals) -> Migrations:
    """Migrations of managed memory that kernels wait for, with the kernels."""
    work, copies = DeviceWork.of(s.trace), Copies.of(s.trace)
    moved = copies.managed & ~work.launched[copies.at]
    if not moved.any():
        raise MissingInputError("no memory migrates by itself", hint="nothing is missing: only managed memory does")
    towards = np.flatnonzero(moved & (copies.direction == _TO_DEVICE))
    back = int(np.maximum(copies.bytes[moved & (copies.direction == _TO_HOST)], 0).sum())
    ts = work.ts[copies.at[towards]]
    order = np.argsort(ts, kind="stable")
    ts, size = ts[order], np.maximum(copies.bytes[towards[order]], 0)
    ends = ts + work.dur[copies.at[towards[order]]]
    # Faults between two migrations hold the kernel up as well.
    stalls = Intervals.union_of(ts, ends + _FAULT_NS)
    stalls = Intervals(stalls.starts, stalls.ends - _FAULT_NS)
    kernels = np.flatnonzero(work.are("compute") & (work.dur > 0))
    start, end = work.ts[kernels], work.ts[kernels] + work.dur[kernels]
    low, high = np.searchsorted(ts, start), np.searchsorted(ts, end)
    stalled = stalls.within(start, end)
    kernels, low, high, stalled = (one[(high > low) & (stalled > 0)] for one in (kernels, low, high, stalled))
    total = np.concatenate(([0], np.cumsum(size)))
    moved_in = total[high] - total[low]
    saved = np.maximum(stalled - (moved_in * 1e9 / s(pinned_rate)).astype(np.int64), 0)
    return Migrations(
        work.event[kernels], stalled, saved, int((high - low).sum()), int(moved_in.sum()), back, s(recorded_steps),
        *_alone(s),
    )  # fmt: skip


def _alone(s: Signals) -> tuple[int, int, int, int]:
    """`alone`, `alone_saved`, `alone_bytes` and `alone_number` of `Migrations`."""
    found, work = s(migrating), DeviceWork.of(s.trace)
    found = found.where(found.to(HTOD) | found.to(DTOH))
    computing = np.flatnonzero(work.are("compute", "comm"))
    busy = Intervals.union_of(work.ts[computing], work.ts[computing] + work.dur[computing])
    idle = busy.within(found.ts, found.ts + 1) == 0
    alone, size = exposed_ns(s, found), int(found.bytes[idle].sum())
    again = not s(stepless) and in_most_steps(s, found)
    saved = alone if again else max(alone - int(size * 1e9 / s(pinned_rate)), 0)
    return alone, saved, size, int(np.count_nonzero(idle))
