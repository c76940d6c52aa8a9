"""Where the host waits for the device, what the device did meanwhile, and how long it idles afterwards."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from stepscope.analyses.host.wait_calls import WaitCalls, lines_of, outermost_calls
from stepscope.analyses.idle.host_work import host_work
from stepscope.analyses.registry import Analysis
from stepscope.analyses.shared.device_time import DeviceTime, device_times
from stepscope.analyses.shared.grouping import Groups, ordered_table, shares, texts
from stepscope.analyses.shared.host_waits import synchronising_names
from stepscope.analyses.shared.needs import need_calls
from stepscope.model.errors import MissingInputError
from stepscope.model.events.device_work import DeviceWork
from stepscope.model.intervals import Times
from stepscope.model.schema import TableSchema, ns, summary_columns, text
from stepscope.model.table import Table
from stepscope.model.tables import RANK
from stepscope.model.trace import Trace

_NO_DEVICE = "Null if the recording has no device activity."

SYNCHRONISATIONS = TableSchema(
    "synchronisations",
    "One row per call that blocks the host until the device has done something, and place it was called from. "
    "Durations are the time that the host was blocked; a call inside another one is not counted apart.",
    (
        *summary_columns("call", "the time in all such calls"),
        RANK,
        text("kind", "synchronise, or copy: a copy that the host waits for."),
        text("operator", "Innermost operator around it; null if there is none.", nullable=True),
        text("annotation", "Innermost annotation or module around it; null if there is none.", nullable=True),
        text("line", "Innermost line of Python outside PyTorch that led to it; null if not recorded.", nullable=True),
        ns("busy_ns", "The part during which the device that it waited for was working, the one that finished "
           f"something last before it returned. {_NO_DEVICE}", nullable=True),
        ns("idle_ns", f"The rest: the device had nothing to do. {_NO_DEVICE}", nullable=True),
        ns("refill_ns", "Time for which that device stayed idle after the call returned: until its next activity "
           "began, or the next such call; before its first activity, until work was launched. What `idle_causes` "
           f"counts as `host_work` is left out. {_NO_DEVICE}",
           nullable=True),
    ),
)  # fmt: skip

_NEVER = np.iinfo(np.int64).max


def synchronisations(trace: Trace) -> Table:
    """Sum up waits of the host by call and caller; no rows for a job that never waits.

    Raises:
        MissingInputError: The recording has no runtime calls.
    """
    need_calls(trace)
    waits = synchronising_names(trace)
    calls = outermost_calls(trace)
    lines, line = lines_of(trace, calls)
    groups = Groups.by(calls.name, calls.operator_name, calls.module, line)
    first = groups.first
    columns: dict[str, Any] = {
        "name": texts(trace, calls.name[first]),
        **groups.summary(calls.end - calls.ts),
        "rank": np.full(groups.count.size, trace.ranks[0], np.int32),
        "kind": np.where(np.isin(calls.name[first], waits), "synchronise", "copy").astype(object),
        "operator": texts(trace, calls.operator_name[first]),
        "annotation": texts(trace, calls.module[first]),
        "line": [lines[code] if code >= 0 else None for code in line[first].tolist()],
    }
    columns["share"] = shares(columns["total_ns"], int((calls.end - calls.ts).sum()))
    columns |= _device_columns(trace, calls, groups)
    return ordered_table(SYNCHRONISATIONS, columns, ("operator", "annotation", "line"))


def _device_columns(trace: Trace, calls: WaitCalls, groups: Groups) -> dict[str, Any]:
    """`busy_ns`, `idle_ns` and `refill_ns` of each group."""
    try:
        devices = trace.once(device_times)
    except MissingInputError:
        nothing = [None] * groups.count.size
        return {"busy_ns": nothing, "idle_ns": nothing, "refill_ns": nothing}
    which, following = _waited_for(devices, calls.end), _next_call(calls)
    at_work = trace.once(host_work)
    busy, refill = np.zeros(calls.ts.size, np.int64), np.zeros(calls.ts.size, np.int64)
    for number, device in enumerate(devices):
        mine = which == number
        busy[mine] = device.busy.within(calls.ts[mine], calls.end[mine])
        until = np.minimum(following[mine], _first_call(trace, device, calls.end[mine]))
        idle = _refill(device, calls.end[mine], until)
        refill[mine] = idle - at_work.within(calls.end[mine], calls.end[mine] + idle)
    total, worked = groups.sum(calls.end - calls.ts), groups.sum(busy)
    return {"busy_ns": worked, "idle_ns": total - worked, "refill_ns": groups.sum(refill)}


def _first_call(trace: Trace, device: DeviceTime, returns: Times) -> Times:
    """When a device was first given work, for returns before its first activity; the end of time for all others.

    What starts long after that follows work that was launched before the recording began, and kept the device busy.
    """
    work = DeviceWork.of(trace)
    mine = work.launched & (work.device == (-1 if device.device is None else device.device))
    called = int(work.called[mine].min()) if mine.any() else _NEVER
    return np.where(returns < device.first, np.maximum(called, returns), _NEVER).astype(np.int64)


def _waited_for(devices: list[DeviceTime], returns: Times) -> NDArray[np.int64]:
    """Index of the device whose work ended last before each call returned, or still ran then."""
    latest = np.full((len(devices), returns.size), np.iinfo(np.int64).min)
    for number, device in enumerate(devices):
        at = np.searchsorted(device.busy.starts, returns, side="left") - 1
        seen = at >= 0
        latest[number, seen] = np.minimum(device.busy.ends[at[seen]], returns[seen])
    which: NDArray[np.int64] = latest.argmax(axis=0)
    return which


def _next_call(calls: WaitCalls) -> Times:
    """Start of the first other call after each has returned; the end of time if there is none."""
    order = np.argsort(calls.ts, kind="stable")
    own = np.empty(order.size, np.int64)
    own[order] = np.arange(order.size)
    starts = calls.ts[order]
    following: Times = np.append(starts, _NEVER)[np.maximum(np.searchsorted(starts, calls.end, side="left"), own + 1)]
    return following


def _refill(device: DeviceTime, returns: Times, following: Times) -> Times:
    """How long the device stays idle after each return, at most to the following call that waits."""
    busy = device.busy
    at = np.searchsorted(busy.starts, returns, side="left")
    starts = np.append(busy.starts, _NEVER)[at]
    # A device whose work took no time was never busy.
    running = (at > 0) & (np.append(busy.ends, 0)[np.maximum(at - 1, 0)] > returns)
    until = np.where(running | (starts == _NEVER), returns, np.minimum(starts, following))
    return until - returns


ANALYSES = (Analysis(SYNCHRONISATIONS, synchronisations),)
