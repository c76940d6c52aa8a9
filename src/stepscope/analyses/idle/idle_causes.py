"""Assign every idle nanosecond of every step to exactly one cause.

A gap ends with its starter, the next activity on the device. Until the starter's launch call the host was late, for the
reason that the states of its threads give. During the call, the cause is the call; after it, the device or what the
starter depends on. If the host was blocked in a synchronising call when the gap started, its work up to the next launch
is the refill, and counts as the synchronisation's cost.

Milliseconds without a call of the device runtime are the host's own work, not dispatch, also after a wait. Where the
host waits for a device without recorded activity, it waits for work that is not in the recording.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from stepscope.analyses.idle import causes
from stepscope.analyses.idle.attribution import IdleParts, explain
from stepscope.analyses.idle.host_work import first_calls, host_work, unseen_work
from stepscope.analyses.idle.idle_gaps import activities, find_gaps, stream_waits
from stepscope.analyses.idle.long_parts import behind_nothing, long_parts
from stepscope.analyses.registry import Analysis
from stepscope.analyses.shared.device_time import DeviceTime, StepWindows, device_times, step_windows
from stepscope.analyses.shared.host_states import host_states
from stepscope.analyses.shared.needs import has_device
from stepscope.analyses.steps.step_budget import step_budget
from stepscope.model.errors import MissingInputError
from stepscope.model.intervals import Intervals, Times
from stepscope.model.partition import overlay
from stepscope.model.process.executors import threads_for
from stepscope.model.schema import Column, TableSchema, count, fraction, ns, text
from stepscope.model.table import Table
from stepscope.model.tables import RANK
from stepscope.model.trace import Trace

IDLE_CAUSES = TableSchema(
    "idle_causes",
    "One row per device, step and cause of idleness; `step` is null for the time from the device's first activity "
    "to its last. The rows of a step add up to its `idle_ns` in `step_budget`.",
    (
        RANK,
        Column("device", "int32", "Device index; null if not recorded.", "", True),
        Column("step", "int32", "Step, as in `steps`; null for the whole recorded device span.", "", True),
        text(
            "cause",
            "data_wait (host in the data loader), synchronisation (host blocked until the device drained, then "
            "refilled it), allocation (device memory from the driver), host_dispatch (next work not launched yet), "
            "launch_latency (launched, not started), dependency (queued behind an event or another stream), "
            "profiler_overhead or unknown.",
        ),
        text(
            "detail",
            "What within the cause; null where there is no further split. `host_work`: the host called nothing of the "
            "device for milliseconds; `first_use`: a call or operator that loads a kernel or a library; "
            "`work not recorded`: the host waited for device work that the recording lacks.",
            nullable=True,
        ),
        ns("total_ns", "Idle time of that cause."),
        fraction("share", "total_ns as a share of the step."),
        count("count", "Gaps that the cause has a part in."),
    ),
)


def idle_causes(trace: Trace) -> Table:
    """Find the cause of every idle nanosecond.

    Raises:
        MissingInputError: The recording has no device activity.
    """
    if not trace.once(has_device):
        summed = [row for row in trace.once(step_budget).records() if row["total_ns"]]
        if not summed:
            raise MissingInputError.of("device")
        return Table.from_rows(IDLE_CAUSES, [_unknown(row) for row in summed])
    windows = trace.once(step_windows)
    found: list[tuple[object, ...]] = []
    for device, parts in trace.once(idle_parts):
        found += _rows(trace.ranks[0], device, windows, parts)
    return Table.from_rows(IDLE_CAUSES, found)


def idle_parts(trace: Trace) -> list[tuple[DeviceTime, IdleParts]]:
    """Every device's idle time by cause, from its first activity or step to the last; ask for it with `Trace.once`.

    Raises:
        MissingInputError: The recording has no device activity.
    """
    devices, windows = trace.once(device_times), trace.once(step_windows)
    hosts = trace.once(host_states)
    [recording] = trace.recordings.values()
    with threads_for(recording.events, 1, "idle") as beside:
        of_hosts = beside.submit(_told_by_hosts, trace.for_thread())
        rows, waits = activities(trace), stream_waits(trace)
        if hosts is not None:
            hosts.prepare()
        told = of_hosts.result()
    trace.forget_if_large()
    found = []
    busy = Intervals.union_of_all(device.busy for device in devices)
    for device in devices:
        lo = min(device.first, int(windows.starts.min(initial=device.first)))
        hi = max(device.last, int(windows.ends.max(initial=device.last)))
        mine = rows["device"] == (-1 if device.device is None else device.device)
        own = rows if mine.all() else {name: column[mine] for name, column in rows.items()}
        gaps = find_gaps(own, waits, lo, hi)
        parts = explain(gaps, hosts)
        if hosts is not None:
            parts = long_parts(parts, *told)
            parts = behind_nothing(parts, busy)
        found.append((device, parts))
    return found


def _told_by_hosts(trace: Trace) -> list[Intervals]:
    """What `long_parts` asks of the host."""
    return [trace.once(one) for one in (host_work, unseen_work, first_calls)]


def _unknown(row: dict[str, Any]) -> tuple[object, ...]:
    """Idle time of a step of which only sums are recorded."""
    share = row["idle_ns"] / row["total_ns"] if row["total_ns"] else 0.0
    return row["rank"], row["device"], row["step"], *causes.CAUSES[causes.NO_HOST], row["idle_ns"], share, 1


def _rows(rank: int, device: DeviceTime, windows: StepWindows, parts: IdleParts) -> list[tuple[object, ...]]:
    rows: list[tuple[object, ...]] = []
    sums = _sums(windows.starts, windows.ends, parts)
    whole = _sums(np.array([device.first]), np.array([device.last]), parts)
    lengths = (windows.ends - windows.starts).tolist()
    steps = windows.step.tolist()
    for window, cause, total, number in sums:
        rows.append((rank, device.device, steps[window], *causes.CAUSES[cause], total, total / lengths[window], number))
    for _, cause, total, number in whole:
        length = device.last - device.first
        rows.append((rank, device.device, None, *causes.CAUSES[cause], total, total / length, number))
    return rows


def _sums(starts: Times, ends: Times, parts: IdleParts) -> list[tuple[int, int, int, int]]:
    """(window, cause, total, gaps) for each window and each of its causes; windows ascend."""
    start, end, part, window = overlay(parts.starts, parts.ends, starts, ends)
    key = window * len(causes.CAUSES) + parts.cause[part]
    totals = np.zeros(starts.size * len(causes.CAUSES), np.int64)
    np.add.at(totals, key, end - start)
    gaps = np.zeros_like(totals)
    order = np.lexsort((parts.gap[part], key))
    keys, gap = key[order], parts.gap[part][order]
    new = np.ones(keys.size, np.bool_)
    new[1:] = (keys[1:] != keys[:-1]) | (gap[1:] != gap[:-1])
    np.add.at(gaps, keys[new], 1)
    used = np.flatnonzero(totals)
    return [(int(k) // len(causes.CAUSES), int(k) % len(causes.CAUSES), int(totals[k]), int(gaps[k])) for k in used]


ANALYSES = (Analysis(IDLE_CAUSES, idle_causes),)
