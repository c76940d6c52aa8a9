"""Nesting of host threads: depth, parent, and the operator and module around every event."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from stepscope.ingest.derive.host_batch import ALLOCATION, ARROW, EVENT, FRAME, MODULE, OP, HostBatch
from stepscope.ingest.derive.host_stretches import host_stretches
from stepscope.ingest.derive.write import Writing
from stepscope.model.intervals import Times
from stepscope.model.nesting import Nesting, nearest, nest
from stepscope.store.staging import Staging

if TYPE_CHECKING:
    from numpy.typing import NDArray

Steps = dict[str, "NDArray[Any]"]

_NESTING_SQL: Final = (
    "CREATE TABLE nesting (id BIGINT, depth INTEGER, parent BIGINT, op BIGINT, outer_op BIGINT, module BIGINT, "
    "step INTEGER)"
)


def nest_hosts(staging: Staging, writing: Writing) -> None:
    """Fill `nesting` for all events on host tracks, and the owners of allocations and ends of arrows; write the events.

    Allocations and arrow ends are points on a thread: they take part in the nesting as events of no length,
    so that whatever encloses them is their parent.
    """
    connection = staging.connection
    connection.execute(_NESTING_SQL)
    connection.execute("CREATE TABLE memory_owners (row BIGINT, owner BIGINT)")
    connection.execute("CREATE TABLE flow_ends (row BIGINT, event BIGINT)")
    steps = connection.execute("SELECT ts, ts + dur AS stop FROM raw_steps ORDER BY ts").fetchnumpy()
    clipped = 0
    for stretch in host_stretches(staging):
        clipped += _nest(HostBatch.read(staging, stretch), staging, writing, steps)
    staging.observe(
        "nesting-repaired",
        "info",
        clipped,
        "host events outlive the event that encloses them",
        "each is cut at its parent's end when self times are computed",
    )


def _nest(batch: HostBatch, staging: Staging, writing: Writing, steps: Steps) -> int:
    """Nest the threads of a batch; returns how many events had to be clipped to their parent."""
    n = batch.id.size
    depth = np.zeros(n, dtype=np.int32)
    parent = np.full(n, -1, dtype=np.int64)
    by_time = np.arange(n)
    edges = np.flatnonzero(np.diff(batch.track)) + 1
    clipped = 0
    for low, high in zip([0, *edges.tolist()], [*edges.tolist(), n], strict=True):
        ts = batch.ts[low:high]
        nesting = _nest_thread(ts, ts + batch.dur[low:high], batch.role[low:high] == FRAME)
        depth[low:high] = nesting.depth
        parent[low:high] = np.where(nesting.parent < 0, -1, nesting.parent + low)
        by_time[low:high] = low + np.argsort(ts, kind="stable")
        clipped += nesting.clipped
    step = step_at(batch.ts, steps)
    _store_nesting(staging, batch, depth, parent, step)
    _store_owners(staging, batch, parent)
    around: dict[str, NDArray[Any]] = {"depth": depth, "parent": _ids(parent, batch.id), "step": step}
    writing.start_host_events(_host_events(batch, around, by_time))
    return clipped


def _nest_thread(ts: Times, end: Times, is_frame: NDArray[np.bool_]) -> Nesting:
    """Nest one thread, letting a Python frame end where something begins that outlives it by more than it covers.

    A function that opens a context (`__enter__` of an annotation) returns while the context goes on. What it opened is
    not part of it, though it began there, and neither are the functions around it that return as well.
    """
    nesting = nest(ts, end)
    opened = np.flatnonzero(~is_frame & (end - nesting.end > nesting.end - ts))
    opened = opened[is_frame[nesting.parent[opened]]]
    if not opened.size:
        return nesting
    end = end.copy()
    frame, context = nesting.parent[opened], opened
    while frame.size:
        np.minimum.at(end, frame, ts[context])
        frame = nesting.parent[frame]
        going = (frame >= 0) & is_frame[frame]
        going[going] = end[frame[going]] < end[context[going]]
        frame, context = frame[going], context[going]
    return nest(ts, end)


def _store_nesting(
    staging: Staging, batch: HostBatch, depth: NDArray[np.int32], parent: NDArray[np.int64], step: NDArray[np.int32]
) -> None:
    op = nearest(batch.role == OP, depth, parent)
    module = nearest(batch.role == MODULE, depth, parent)
    # The operator around an operator: what is nearest to the parent of the innermost one.
    above = np.where(op < 0, -1, parent[op])
    outer = np.where(above < 0, -1, op[above])
    event = batch.kind == EVENT
    columns: dict[str, NDArray[Any]] = {"depth": depth, "step": step}
    columns |= {
        name: _ids(found, batch.id)
        for name, found in (("parent", parent), ("op", op), ("outer_op", outer), ("module", module))
    }
    nesting = {name: _nullable(values[event]) for name, values in columns.items()}
    staging.insert("nesting", pa.table({"id": batch.id[event], **nesting}))


def _store_owners(staging: Staging, batch: HostBatch, parent: NDArray[np.int64]) -> None:
    """What allocations and ends of arrows lie in."""
    for kind, table, column in ((ALLOCATION, "memory_owners", "owner"), (ARROW, "flow_ends", "event")):
        points = batch.kind == kind
        if points.any():
            owners = _nullable(_ids(parent, batch.id)[points])
            staging.insert(table, pa.table({"row": batch.id[points], column: owners}))


def _host_events(batch: HostBatch, around: dict[str, NDArray[Any]], by_time: NDArray[np.int64]) -> pa.Table:
    """The events as they are stored, with columns that tell what is around them; without device work."""
    chosen = by_time[batch.kind[by_time] == EVENT]
    chosen = chosen[~batch.events["is_work"].to_numpy()[batch.event[chosen]]]
    events = batch.events.take(pa.array(batch.event[chosen]))
    for name, values in around.items():
        events = events.append_column(name, _nullable(values[chosen]))
    return events


def step_at(ts: NDArray[np.int64], steps: Steps) -> NDArray[np.int32]:
    """Index of the step that each time falls in, -1 where none; `steps` ascend and do not overlap."""
    index = np.searchsorted(steps["ts"], ts, side="right") - 1
    if not len(steps["ts"]):
        return index.astype(np.int32)
    inside = (index >= 0) & (ts < steps["stop"][index])
    return np.where(inside, index, -1).astype(np.int32)


def _ids(index: NDArray[np.int64], ids: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.where(index < 0, -1, ids[index])


def _nullable(values: NDArray[Any]) -> pa.Array:
    """Numbers with null for -1, which stands for "none" in NumPy."""
    return pa.array(values, mask=values == -1)
