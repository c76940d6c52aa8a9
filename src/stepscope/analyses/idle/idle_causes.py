"""Assign every idle nanosecond of every step to exactly one cause.

A gap ends with its starter, the next activity on the device. Until the starter's launch call the host was late, for the
reason that the states of its threads give. During the call, the cause is the call; after it, the device or what the
starter depends on. If the host was blocked in a synchronising call when the gap started, its work up to the next launch
is the refill, and counts as the synchronisation's cost.

Milliseconds without a call of the device runtime are the host's own work, not dispatch, also after a wait. Where the
host waits for a device without recorded activity, it waits for work that is not in the recording.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stepscope.analyses.idle import idle_gaps as late
from stepscope.analyses.idle.host_work import LOADING_NS, UNSEEN_NS, first_calls, host_work, unseen_work
from stepscope.analyses.idle.idle_gaps import Gaps, activities, find_gaps, stream_waits
from stepscope.analyses.registry import Analysis
from stepscope.analyses.shared import host_states as host
from stepscope.analyses.shared.device_time import DeviceTime, StepWindows, device_times, step_windows
from stepscope.analyses.shared.host_states import HostStates, host_states
from stepscope.analyses.shared.needs import has_device
from stepscope.analyses.steps.step_budget import step_budget
from stepscope.model.errors import MissingInputError
from stepscope.model.intervals import Intervals, Times, overlay, partition
from stepscope.model.schema import Column, TableSchema, count, fraction, ns, text
from stepscope.model.table import Table
from stepscope.model.tables import RANK
from stepscope.model.trace import Trace

#: Causes and their details.
CAUSES: tuple[tuple[str, str | None], ...] = (
    ("data_wait", None),
    ("synchronisation", "blocked"),
    ("synchronisation", "refill"),
    ("allocation", None),
    ("host_dispatch", "op_overhead"),
    ("host_dispatch", "python"),
    ("host_dispatch", "gc"),
    ("host_dispatch", "runtime_call"),
    ("host_dispatch", "other"),
    ("host_dispatch", "host_work"),
    ("host_dispatch", "first_use"),
    ("launch_latency", "empty_queue"),
    ("launch_latency", "queued"),
    ("dependency", "event"),
    ("dependency", "other_stream"),
    ("profiler_overhead", None),
    ("unknown", "delayed start"),
    ("unknown", "launch not recorded"),
    ("unknown", "host not recorded"),
    ("unknown", "work not recorded"),
)
(_DATA, _BLOCKED, _REFILL, _ALLOCATION, _OP, _PYTHON, _GC, _CALL, _OTHER, _WORK, _FIRST, _EMPTY, _QUEUED, _EVENT,
 _STREAM, _PROFILER, _DELAYED, _NO_LAUNCH, _NO_HOST, _UNSEEN) = range(len(CAUSES))  # fmt: skip

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

_OF_STATE = {
    host.SYNC: _BLOCKED,
    host.ALLOCATION: _ALLOCATION,
    host.GC: _GC,
    host.OVERHEAD: _PROFILER,
    host.DATA: _DATA,
    host.RUNTIME: _CALL,
    host.OP: _OP,
    host.PYTHON: _PYTHON,
    host.OTHER: _OTHER,
    host.SILENT: _NO_HOST,
}
_LABELS = np.array([_OF_STATE[state] for state in sorted(_OF_STATE)])
_OF_WAIT = {
    late.EMPTY_QUEUE: _EMPTY,
    late.QUEUED: _QUEUED,
    late.EVENT: _EVENT,
    late.OTHER_STREAM: _STREAM,
    late.DELAYED: _DELAYED,
}
_WAIT_LABELS = np.array([_OF_WAIT[why] for why in sorted(_OF_WAIT)])
_DISPATCH = np.array([_CALL, _OP, _PYTHON, _OTHER])
#: What a thread does that calls nothing of the device, and what it does while it waits for the device or launches.
_AT_WORK = np.array([_OP, _PYTHON, _OTHER])
_WAITING = np.array([_BLOCKED, _CALL, _QUEUED])


@dataclass(frozen=True, slots=True)
class IdleParts:
    """Stretches of idle time, each of one gap and one cause (an index into `CAUSES`)."""

    starts: Times
    ends: Times
    gap: NDArray[np.int64]
    cause: NDArray[np.int64]


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
    rows, waits, hosts = activities(trace), stream_waits(trace), trace.once(host_states)
    found = []
    busy = Intervals.union_of_all(device.busy for device in devices)
    for device in devices:
        lo = min(device.first, int(windows.starts.min(initial=device.first)))
        hi = max(device.last, int(windows.ends.max(initial=device.last)))
        mine = rows["device"] == (-1 if device.device is None else device.device)
        gaps = find_gaps({name: column[mine] for name, column in rows.items()}, waits, lo, hi)
        parts = explain(gaps, hosts)
        if hosts is not None:
            parts = _long(parts, *(trace.once(one) for one in (host_work, unseen_work, first_calls)))
            parts = _behind_nothing(parts, busy)
        found.append((device, parts))
    return found


def _unknown(row: dict[str, Any]) -> tuple[object, ...]:
    """Idle time of a step of which only sums are recorded."""
    share = row["idle_ns"] / row["total_ns"] if row["total_ns"] else 0.0
    return row["rank"], row["device"], row["step"], *CAUSES[_NO_HOST], row["idle_ns"], share, 1


def explain(gaps: Gaps, hosts: HostStates | None) -> IdleParts:
    """Cut gaps into parts of one cause each, which cover them exactly."""
    if hosts is None:
        nothing = np.full(gaps.starts.size, _NO_HOST)
        return IdleParts(gaps.starts, gaps.ends, np.arange(gaps.starts.size), nothing)
    parts = [_before_launch(gaps, hosts), _during_launch(gaps, hosts), _after_launch(gaps)]
    starts, ends, gap, cause = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    return IdleParts(starts, ends, gap, _charge_refill(gaps, starts, gap, cause))


Part = tuple[Times, Times, NDArray[np.int64], NDArray[np.int64]]


def _before_launch(gaps: Gaps, hosts: HostStates) -> Part:
    """Cause before the launch call: the state of the host's threads."""
    main = hosts.feeders[0]
    thread = np.where(np.isin(gaps.thread, hosts.feeders), gaps.thread, main)
    lo, hi = int(gaps.starts.min(initial=0)), int(gaps.ends.max(initial=0))
    parts: list[Part] = []
    for one in np.unique(thread).tolist():
        mine = np.flatnonzero(thread == one)
        tile_starts, tile_ends, states = hosts.timeline(one, lo, hi)
        starts, ends, index, tile = overlay(gaps.starts[mine], gaps.call_starts[mine], tile_starts, tile_ends)
        gap, cause = mine[index], _LABELS[states[tile]]
        no_launch = gaps.started[gap] & (gaps.thread[gap] < 0)
        cause[no_launch & np.isin(cause, [*_DISPATCH, _GC])] = _NO_LAUNCH
        # What starts while the host is blocked had been launched before.
        cause[no_launch & (cause == _BLOCKED) & (ends == gaps.ends[gap])] = _QUEUED
        parts.append((starts, ends, gap, cause))
    return _joined(parts)


def _during_launch(gaps: Gaps, hosts: HostStates) -> Part:
    """Cause during the launch call: the call itself, or the profiler inside it."""
    called = np.flatnonzero(gaps.call_ends > gaps.call_starts)
    tiles = hosts.overhead_timeline(int(gaps.starts.min(initial=0)), int(gaps.ends.max(initial=0)))
    starts, ends, index, tile = overlay(gaps.call_starts[called], gaps.call_ends[called], tiles[0], tiles[1])
    long = gaps.call_ends[called[index]] - gaps.call_starts[called[index]] >= LOADING_NS
    call = np.where(gaps.fresh[called[index]] & long, _FIRST, _CALL)
    return starts, ends, called[index], np.where(tiles[2][tile] == 0, _PROFILER, call)


def _after_launch(gaps: Gaps) -> Part:
    """Cause between the launch and the starter's start."""
    waiting = np.flatnonzero(gaps.ends > gaps.call_ends)
    return gaps.call_ends[waiting], gaps.ends[waiting], waiting, _WAIT_LABELS[gaps.why[waiting]]


def _charge_refill(gaps: Gaps, starts: Times, gap: NDArray[np.int64], cause: NDArray[np.int64]) -> NDArray[np.int64]:
    """Mark the host's work between a blocking wait, in which a gap started, and the launch as refill."""
    drained = np.zeros(gaps.starts.size, np.bool_)
    drained[gap[(cause == _BLOCKED) & (starts == gaps.starts[gap])]] = True
    return np.where(drained[gap] & np.isin(cause, _DISPATCH), _REFILL, cause)


def _long(parts: IdleParts, work: Intervals, unseen: Intervals, first: Intervals) -> IdleParts:
    """Cut out parts in which the host does work of its own, waits for unrecorded work, or makes a long first call."""
    if not parts.starts.size or not (len(work) or len(unseen) or len(first)):
        return parts
    lo, hi = int(parts.starts.min()), int(parts.ends.max())
    tile_starts, tile_ends, label = partition([unseen, work, first], lo, hi)
    starts, ends, part, tile = overlay(parts.starts, parts.ends, tile_starts, tile_ends)
    cause, what = parts.cause[part], label[tile]
    cause = np.where((what == 0) & np.isin(cause, _WAITING), _UNSEEN, cause)
    cause = np.where((what == 1) & np.isin(cause, [*_AT_WORK, _REFILL]), _WORK, cause)
    cause = np.where((what == 2) & np.isin(cause, [_CALL, _REFILL, *_AT_WORK]), _FIRST, cause)
    return IdleParts(starts, ends, parts.gap[part], cause)


def _behind_nothing(parts: IdleParts, busy: Intervals) -> IdleParts:
    """Mark long waits of device work for other work, while no device is active, as unrecorded work.

    So is a long delay from launch to start before all recorded work: a batch was launched before the recording started.
    """
    first = int(busy.starts[0]) if len(busy) else 0
    waits = np.isin(parts.cause, [_EVENT, _STREAM])
    waits |= np.isin(parts.cause, [_DELAYED, _EMPTY, _QUEUED]) & (parts.ends <= first)
    waits &= (parts.ends - parts.starts >= UNSEEN_NS) & (busy.within(parts.starts, parts.ends) == 0)
    return IdleParts(parts.starts, parts.ends, parts.gap, np.where(waits, _UNSEEN, parts.cause))


def _joined(parts: list[Part]) -> Part:
    if not parts:
        none = np.zeros(0, np.int64)
        return none, none, none, none
    starts, ends, gap, cause = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    return starts, ends, gap, cause


def _rows(rank: int, device: DeviceTime, windows: StepWindows, parts: IdleParts) -> list[tuple[object, ...]]:
    rows: list[tuple[object, ...]] = []
    sums = _sums(windows.starts, windows.ends, parts)
    whole = _sums(np.array([device.first]), np.array([device.last]), parts)
    lengths = (windows.ends - windows.starts).tolist()
    steps = windows.step.tolist()
    for window, cause, total, number in sums:
        rows.append((rank, device.device, steps[window], *CAUSES[cause], total, total / lengths[window], number))
    for _, cause, total, number in whole:
        length = device.last - device.first
        rows.append((rank, device.device, None, *CAUSES[cause], total, total / length, number))
    return rows


def _sums(starts: Times, ends: Times, parts: IdleParts) -> list[tuple[int, int, int, int]]:
    """(window, cause, total, gaps) for each window and each of its causes; windows ascend."""
    start, end, part, window = overlay(parts.starts, parts.ends, starts, ends)
    key = window * len(CAUSES) + parts.cause[part]
    totals = np.zeros(starts.size * len(CAUSES), np.int64)
    np.add.at(totals, key, end - start)
    gaps = np.zeros_like(totals)
    order = np.lexsort((parts.gap[part], key))
    keys, gap = key[order], parts.gap[part][order]
    new = np.ones(keys.size, np.bool_)
    new[1:] = (keys[1:] != keys[:-1]) | (gap[1:] != gap[:-1])
    np.add.at(gaps, keys[new], 1)
    used = np.flatnonzero(totals)
    return [(int(k) // len(CAUSES), int(k) % len(CAUSES), int(totals[k]), int(gaps[k])) for k in used]


ANALYSES = (Analysis(IDLE_CAUSES, idle_causes),)
