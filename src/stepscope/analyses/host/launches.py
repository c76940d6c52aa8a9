"""Cost of launch calls on the host, delay until their work starts, and share of work shorter than its launch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stepscope.analyses.idle.queues import CAPACITY, queues
from stepscope.analyses.registry import Analysis
from stepscope.analyses.shared.grouping import Groups, ordered_table, shares, texts
from stepscope.analyses.shared.needs import need_calls, need_device
from stepscope.model.events.columns import Ids, Rows, Spans, on_host
from stepscope.model.events.device_work import DeviceWork
from stepscope.model.intervals import Times
from stepscope.model.schema import TableSchema, count, ns, summary_columns
from stepscope.model.table import Table
from stepscope.model.tables import RANK
from stepscope.model.trace import Trace

#: Thresholds of HolisticTraceAnalysis' launch statistics: calls over 50 µs, delays over 100 µs.
SLOW_CALL_NS = 50_000
LATE_START_NS = 100_000

LAUNCHES = TableSchema(
    "launches",
    "One row per call that puts work on a device: kernels, graphs, copies, memsets. Durations are the host's.",
    (
        *summary_columns("call", "the durations of all such calls"),
        RANK,
        count("activities", "Device activities that the calls launched."),
        ns("device_ns", "Sum of their durations."),
        count("without_activity", "Calls to which no device activity was recorded."),
        count("slow_calls", f"Calls longer than {SLOW_CALL_NS // 1000} µs."),
        ns("delay_median_ns", "Median delay: from the end of a call to its first activity, 0 if that began earlier. "
           "Null if no call has one.", nullable=True),
        ns("delay_mean_ns", "Mean delay, rounded down.", nullable=True),
        ns("delay_max_ns", "Longest delay.", nullable=True),
        count("late_starts", f"Calls with a delay of more than {LATE_START_NS // 1000} µs: work that was queued."),
        count("early_starts", "Calls whose activity began before they returned."),
        count("short_work", "Calls that took the host longer than their activities took the device."),
        count("blocked_calls", f"Calls that found {CAPACITY} launches waiting in their queue, where CUDA blocks."),
        ns("blocked_ns", "Host time of those calls."),
    ),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class _LaunchCalls:
    """The n host calls that launch device work; the work of the first m of them is recorded.

    Attributes:
        row: int32[n], positions in `Spans`.
        dur: int64[n], 0 where not recorded.
        activities: int64[m].
        device_ns: int64[m], sum of their durations.
        ahead: int64[m], from the call's end to the start of the first of them; negative if that is earlier.
    """

    row: Rows
    dur: Times
    activities: Ids
    device_ns: Times
    ahead: Times


def launches(trace: Trace) -> Table:
    """Sum up launch calls by name.

    Raises:
        MissingInputError: The recording has no device activity, or no runtime calls.
    """
    need_device(trace)
    need_calls(trace)
    calls = _calls(trace)
    names, worked = Spans(trace).name[calls.row], calls.ahead.size
    groups = Groups.by(names)
    first, size = names[groups.first], groups.count.size
    index, dur = groups.index[:worked], calls.dur[:worked]
    total = groups.sum(calls.dur)
    delays = groups.summary_of(slice(worked), np.maximum(calls.ahead, 0))
    blocked = _blocked(trace)

    def of_work(values: NDArray[Any]) -> NDArray[np.int64]:
        found = np.zeros(size, np.int64)
        np.add.at(found, index, values.astype(np.int64))
        return found

    columns = {
        **groups.summary(calls.dur),
        "name": texts(trace, first),
        "share": shares(total, int(total.sum())),
        "rank": np.full(size, trace.ranks[0]),
        "activities": of_work(calls.activities),
        "device_ns": of_work(calls.device_ns),
        "without_activity": groups.count - np.bincount(index, minlength=size),
        "slow_calls": groups.sum(calls.dur > SLOW_CALL_NS),
        **{f"delay_{name}": delays[name] for name in ("median_ns", "mean_ns", "max_ns")},
        "late_starts": of_work(calls.ahead > LATE_START_NS),
        "early_starts": of_work(calls.ahead < 0),
        "short_work": of_work(calls.device_ns < dur),
        "blocked_calls": [blocked.get(name, (0, 0))[0] for name in first.tolist()],
        "blocked_ns": [blocked.get(name, (0, 0))[1] for name in first.tolist()],
    }
    return ordered_table(LAUNCHES, columns)


def _calls(trace: Trace) -> _LaunchCalls:
    spans, work = Spans(trace), DeviceWork.of(trace)
    mine = np.flatnonzero((work.launch >= 0) & ~work.are("sync"))
    by_call = Groups.by(work.launch[mine])
    starts = by_call.least(work.ts[mine])
    row = spans.rows(work.launch[mine[by_call.first]])
    known = row >= 0
    known[known] = on_host(trace, spans.track[row[known]])
    row = row[known]
    idle = spans.of("launch")
    idle[row] = False
    others = np.flatnonzero(idle)
    others = others[on_host(trace, spans.track[others])]
    every = np.concatenate((row, others)).astype(np.int32)
    dur = np.maximum(spans.dur[every], 0)
    ahead = starts[known] - (spans.ts[row] + dur[: row.size])
    return _LaunchCalls(every, dur, by_call.count[known], by_call.sum(work.dur[mine])[known], ahead)


def _blocked(trace: Trace) -> dict[int, tuple[int, int]]:
    """Calls that found their queue full, and their host time, by `name_id`."""
    full: dict[int, dict[int, int]] = {}
    for queue in trace.once(queues):
        blocked = queue.blocked
        for name in np.unique(queue.name[blocked]).tolist():
            its = blocked & (queue.name == name)
            pairs = zip(queue.launch[its].tolist(), queue.call_ns[its].tolist(), strict=True)
            full.setdefault(name, {}).update(pairs)
    return {name: (len(calls), sum(calls.values())) for name, calls in full.items()}


ANALYSES = (Analysis(LAUNCHES, launches),)
