"""How many launches wait in the device queues: how far the host runs ahead of the device."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from stepscope.analyses.idle.queues import CAPACITY, QueueEntries, queues
from stepscope.analyses.registry import Analysis
from stepscope.analyses.shared.needs import need_calls, need_device
from stepscope.model.intervals import Times
from stepscope.model.schema import TableSchema, count, fraction, ns, number
from stepscope.model.table import Table
from stepscope.model.tables import RANK, TRACKS
from stepscope.model.trace import Trace

#: Intervals of equal length into which the timeline cuts the recording.
BUCKETS = 200

_QUEUE = (RANK, TRACKS["device"], TRACKS["stream"], TRACKS["track"])

QUEUE_DEPTH = TableSchema(
    "queue_depth",
    "One row per device queue: how many launches waited in it, from its first launch to its last start. A launch "
    "waits from the start of its call until its first activity starts; a graph counts as one.",
    (
        *_QUEUE,
        count("launches", "Launches that put work into the queue."),
        count("activities", "Device activities that they brought."),
        count("max", "Most launches waiting at once."),
        number("mean", "Mean number waiting over time.", "count"),
        ns("total_ns", "From the first launch to the last start."),
        ns("empty_ns", "Time with nothing waiting."),
        ns("full_ns", f"Time with {CAPACITY} or more waiting, where a CUDA stream takes no more and launches block."),
        fraction("full", "full_ns as a share of total_ns."),
    ),
)

QUEUE_DEPTH_TIMELINE = TableSchema(
    "queue_depth_timeline",
    f"How many launches waited in each device queue over time, in up to {BUCKETS} intervals of equal length.",
    (
        *_QUEUE,
        ns("ts", "Start of the interval."),
        ns("dur", "Its length."),
        count("max", "Most launches waiting at once."),
        number("mean", "Mean number waiting.", "count"),
    ),
)

_TRACKS_SQL = "SELECT track, device, stream FROM tracks WHERE kind = 'device'"


def queue_depth(trace: Trace) -> Table:
    """Sum up each device queue.

    Raises:
        MissingInputError: The recording has no device activity, or no launches.
    """
    return _per_queue(trace, QUEUE_DEPTH, _summary)


def queue_depth_timeline(trace: Trace) -> Table:
    """Follow each device queue over time.

    Raises:
        MissingInputError: The recording has no device activity, or no launches.
    """
    return _per_queue(trace, QUEUE_DEPTH_TIMELINE, _timeline)


def _per_queue(trace: Trace, schema: TableSchema, rows: Any) -> Table:
    need_device(trace)
    need_calls(trace)
    tracks = {row["track"]: row for row in trace.rows(_TRACKS_SQL)}
    found: list[tuple[Any, ...]] = []
    for queue in trace.once(queues):
        row = tracks[queue.track]
        found += [(trace.ranks[0], row["device"], row["stream"], queue.track, *values) for values in rows(queue)]
    return Table.from_rows(schema, found)


def _summary(queue: QueueEntries) -> list[tuple[Any, ...]]:
    at, waiting = queue.depth()
    first, last = int(queue.launched.min()), int(queue.started.max())
    held = np.diff(at)
    area = int((held * waiting[:-1]).sum()) if at.size else 0
    some = int(held[waiting[:-1] > 0].sum()) if at.size else 0
    full = int(held[waiting[:-1] >= CAPACITY].sum()) if at.size else 0
    total = last - first
    mean, share = (area / total, full / total) if total else (0.0, 0.0)
    most = int(waiting.max(initial=0))
    return [(queue.launch.size, int(queue.activities.sum()), most, mean, total, total - some, full, share)]


def _timeline(queue: QueueEntries) -> list[tuple[Any, ...]]:
    first, last = int(queue.launched.min()), int(queue.started.max())
    at, waiting = queue.depth()
    if not at.size:
        return []
    width = -(-(last - first) // BUCKETS)
    edges = np.arange(first, last, width)
    ends = np.minimum(edges + width, last)
    area, most = _area(at, waiting, np.append(edges, last)), _most(at, waiting, edges)
    return list(
        zip(edges.tolist(), (ends - edges).tolist(), most.tolist(), (area / (ends - edges)).tolist(), strict=True)
    )


def _area(at: Times, waiting: NDArray[np.int64], edges: Times) -> NDArray[np.int64]:
    """Waiting launches times nanoseconds between neighbouring edges."""
    before = np.concatenate(([0], np.cumsum(np.diff(at) * waiting[:-1])))
    last = np.maximum(np.searchsorted(at, edges, side="right") - 1, 0)
    area: NDArray[np.int64] = np.diff(before[last] + waiting[last] * np.maximum(edges - at[last], 0))
    return area


def _most(at: Times, waiting: NDArray[np.int64], edges: Times) -> NDArray[np.int64]:
    """Most waiting launches from each edge to the next."""
    last = np.searchsorted(at, edges, side="right") - 1
    most = np.where(last < 0, 0, waiting[np.maximum(last, 0)])
    np.maximum.at(most, np.searchsorted(edges, at, side="right") - 1, waiting)
    return most


ANALYSES = (Analysis(QUEUE_DEPTH, queue_depth), Analysis(QUEUE_DEPTH_TIMELINE, queue_depth_timeline))
