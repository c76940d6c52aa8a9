"""Time of each step on each device: compute, exposed communication, exposed copies, idle."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from stepscope.analyses.registry import Analysis
from stepscope.analyses.shared.device_time import DeviceTime, StepWindows, device_times, step_windows
from stepscope.analyses.shared.needs import has_device
from stepscope.model.schema import Column, TableSchema, ident, ns
from stepscope.model.table import Table
from stepscope.model.tables import RANK
from stepscope.model.trace import Trace

STEP_BUDGET = TableSchema(
    "step_budget",
    "One row per device and step, and one per device with `step` null for the time from the device's first "
    "activity to its last. total = compute + exposed communication + exposed copy + idle, exactly. Of a rank whose "
    "events are not at hand these are the sums of its profiler, copies are in idle, and the whole is all its steps. "
    "Where no device activity is recorded, steps have a row without device and with no time on one: that is not idle "
    "time, but unknown.",
    (
        RANK,
        Column("device", "int32", "Device index; null if not recorded.", "", True),
        Column("step", "int32", "Step, as in `steps`; null for the whole recorded device span.", "", True),
        ns("total_ns", "Length of the step on the devices, see `start_ns` and `end_ns`; 0 without device activity."),
        ns("compute_ns", "At least one compute kernel ran."),
        ns("exposed_comm_ns", "A collective ran, and no compute kernel."),
        ns("exposed_copy_ns", "A copy or memset ran, and neither compute kernel nor collective."),
        ns("idle_ns", "Nothing ran; waits of device queues count as nothing."),
        ns("comm_ns", "At least one collective ran, whether compute hid it or not."),
        ns("copy_ns", "At least one copy or memset ran, whether hidden or not."),
        ident("number", "Number in the step's recorded name; null if it has none.", nullable=True),
        ns("start_ns", "Start: the step's start on the host, or the end of earlier steps' work if that is later."),
        ns("end_ns", "End: of the step on the host or of the last device work launched in it."),
        Column(
            "partial",
            "bool",
            "Whether the recording begins or ends within the step, which makes it no measure "
            "of the others; null for the whole recorded device span.",
            "",
            True,
        ),
        Column(
            "typical",
            "bool",
            "Whether it is one of the steps that everything said per step is about; null for the whole recorded "
            "device span.",
            "",
            True,
        ),
        Column("role", "string", "What it is, as in `steps`; null for the whole recorded device span.", "", True),
        Column("source", "string", "Where it comes from, as in `steps`; null for the whole span.", "", True),
    ),
)


#: Steps that the profiler summed up, by the number in their names, in µs.
_SUMS_SQL: Final = """
SELECT s.step, s.number, s.ts AS start, s.ts + s.dur AS stop, s.partial, s.typical, s.role, s.source,
    round(1000 * max(value) FILTER (WHERE metric = 'Computing'))::BIGINT AS compute,
    round(1000 * max(value) FILTER (WHERE metric = 'Communication(Not Overlapped)'))::BIGINT AS exposed,
    round(1000 * max(value) FILTER (WHERE metric = 'Communication'))::BIGINT AS comm,
    round(1000 * max(value) FILTER (WHERE metric = 'Free'))::BIGINT AS free
FROM steps s JOIN recorded r ON r.source = 'steps' AND try_cast(r.step AS BIGINT) IS NOT DISTINCT FROM s.number
GROUP BY ALL HAVING compute + exposed + free = s.dur ORDER BY s.ts
"""


#: Steps of a recording without device activity.
_HOST_SQL: Final = """
SELECT step, number, ts AS start, ts + dur AS stop, partial, typical, role, source FROM steps
WHERE source <> 'whole' ORDER BY ts
"""


def step_budget(trace: Trace) -> Table:
    """Split the time of each step on each device.

    Raises:
        MissingInputError: The recording has no device activity, nor sums of it, nor steps.
    """
    if not trace.once(has_device) and (summed := trace.rows(_SUMS_SQL)):
        return Table.from_rows(STEP_BUDGET, _summed(trace.ranks[0], summed))
    if not trace.once(has_device) and (seen := trace.rows(_HOST_SQL)):
        return Table.from_rows(STEP_BUDGET, [_on_host(trace.ranks[0], step) for step in seen])
    windows = trace.once(step_windows)
    steps = trace.rows("SELECT step, partial, typical, role, source FROM steps")
    kinds: dict[int | None, tuple[object, ...]] = {
        row["step"]: (row["partial"], row["typical"], row["role"], row["source"]) for row in steps
    }
    rows = [
        (*row, *kinds.get(step, (None,) * 4))
        for device in trace.once(device_times)
        for step, row in _device_rows(trace.ranks[0], device, windows)
    ]
    return Table.from_rows(STEP_BUDGET, rows)


def _on_host(rank: int, step: dict[str, Any]) -> tuple[Any, ...]:
    """A step of which only the host is recorded."""
    kind = (step["partial"], step["typical"], step["role"], step["source"])
    return (rank, None, step["step"], 0, 0, 0, 0, 0, 0, 0, step["number"], step["start"], step["stop"], *kind)


def _summed(rank: int, steps: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    """Rows of a rank that holds sums only."""

    def row(step: int | None, start: int, stop: int, number: int | None, kind: tuple[Any, ...], *ns_: int) -> Any:
        compute, exposed, free, comm = ns_
        total = compute + exposed + free
        return (rank, None, step, total, compute, exposed, 0, free, comm, 0, number, start, stop, *kind)

    sums = ("compute", "exposed", "free", "comm")
    rows = [
        row(
            s["step"], s["start"], s["stop"], s["number"], (s["partial"], s["typical"], s["role"], s["source"]),
            *(s[name] or 0 for name in sums),
        )
        for s in steps
    ]  # fmt: skip
    whole = [sum(s[name] or 0 for s in steps) for name in sums]
    return [*rows, row(None, steps[0]["start"], steps[-1]["stop"], None, (None,) * 4, *whole)]


def _device_rows(
    rank: int, device: DeviceTime, windows: StepWindows
) -> list[tuple[int | None, tuple[int | None, ...]]]:
    """A row per step without its role, and the whole recorded span last, as step None."""
    starts = np.append(windows.starts, device.first)
    ends = np.append(windows.ends, device.last)
    compute = device.compute.within(starts, ends)
    exposed_comm = (device.comm - device.compute).within(starts, ends)
    exposed_copy = (device.copy - device.compute - device.comm).within(starts, ends)
    total = ends - starts
    columns = (
        total,
        compute,
        exposed_comm,
        exposed_copy,
        total - compute - exposed_comm - exposed_copy,
        device.comm.within(starts, ends),
        device.copy.within(starts, ends),
    )
    steps = [*windows.step.tolist(), None]
    numbers = [number if number >= 0 else None for number in windows.number.tolist()] + [None]
    times = zip(*(column.tolist() for column in columns), strict=True)
    edges = zip(starts.tolist(), ends.tolist(), strict=True)
    return [
        (step, (rank, device.device, step, *ns_, number, *edge))
        for step, ns_, number, edge in zip(steps, times, numbers, edges, strict=True)
    ]


ANALYSES = (Analysis(STEP_BUDGET, step_budget),)
