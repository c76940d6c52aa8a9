"""Nesting of host threads: depth, parent, and the operator and module around every event."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from stepscope.ingest.derive.host_batch import ALLOCATION, ARROW, EVENT, FRAME, MODULE, OP, HostBatch
from stepscope.ingest.derive.host_stretches import host_stretches
from stepscope.ingest.derive.launches import Launches
from stepscope.ingest.derive.operators import Operators
from stepscope.ingest.derive.surroundings import Surroundings, nullable, step_at
from stepscope.ingest.derive.write import Writing
from stepscope.model.intervals import Times
from stepscope.model.nesting import Nesting, nearest, nest
from stepscope.model.stretches import Stretch
from stepscope.store.staging import Staging

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: What is asked of the nesting later: of device work that is recorded on a host thread, and of points.
_TABLES_SQL: Final = """
CREATE TABLE work_nesting (id BIGINT, depth INTEGER, parent BIGINT, step INTEGER);
CREATE TABLE memory_owners (row BIGINT, owner BIGINT);
CREATE TABLE flow_ends (row BIGINT, event BIGINT);
"""
#: Columns of events that are stored as they are staged.
_STAGED: Final = ("dur", "name_id", "category", "correlation", "external_id")


def nest_hosts(staging: Staging, writing: Writing) -> None:
    """Nest all events on host tracks and write them; find launches, and the owners of allocations and ends of arrows.

    Allocations and arrow ends are points on a thread: they take part in the nesting as events of no length,
    so that whatever encloses them is their parent.
    """
    connection = staging.connection
    connection.execute(_TABLES_SQL)
    steps = connection.execute("SELECT ts, ts + dur AS stop FROM raw_steps ORDER BY ts").fetchnumpy()
    launches, operators = Launches(staging), Operators(staging)
    clipped = 0
    for stretch in host_stretches(staging):
        events, cut = _nest_stretch(staging, stretch, steps, launches, operators)
        clipped += cut
        writing.start_host_events(events)
        del events
    launches.finish()
    staging.observe(
        "nesting-repaired",
        "info",
        clipped,
        "host events outlive the event that encloses them",
        "each is cut at its parent's end when self times are computed",
    )


def _nest_stretch(
    staging: Staging, stretch: Stretch, steps: dict[str, NDArray[Any]], launches: Launches, operators: Operators
) -> tuple[pa.Table, int]:
    """The events to be written, and how many had to be clipped; all else of them is let go before the next are read."""
    batch = HostBatch.read(staging, stretch)
    around, clipped = _nest(batch, steps)
    operators.add(batch, around, launches.add(batch, around))
    _keep(staging, batch, around)
    return _host_events(batch, around), clipped


def _nest(batch: HostBatch, steps: dict[str, NDArray[Any]]) -> tuple[Surroundings, int]:
    """Nest the threads of a batch; returns also how many events had to be clipped to their parent."""
    n = batch.id.size
    depth = np.zeros(n, dtype=np.int32)
    parent = np.full(n, -1, dtype=np.int64)
    clipped = 0
    for low, high in batch.threads:
        ts = batch.ts[low:high]
        nesting = _nest_thread(ts, ts + batch.dur[low:high], batch.role[low:high] == FRAME)
        depth[low:high] = nesting.depth
        parent[low:high] = np.where(nesting.parent < 0, -1, nesting.parent + low)
        clipped += nesting.clipped
    op, module = (nearest(batch.role == role, depth, parent) for role in (OP, MODULE))
    return Surroundings(depth, parent, op, module, step_at(batch.ts, steps)), clipped


def _nest_thread(ts: Times, end: Times, is_frame: NDArray[np.bool_]) -> Nesting:
    """Nest one thread, letting a Python frame end where something begins that outlives it by more than it covers.

    A function that opens a context (`__enter__` of an annotation) returns while the context goes on. What it opened is
    not part of it, though it began there, and neither are the functions around it that return as well.
    """
    nesting = nest(ts, end)
    if not is_frame.any():
        return nesting
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


def _keep(staging: Staging, batch: HostBatch, around: Surroundings) -> None:
    """Keep what is asked of the nesting later."""
    work = np.flatnonzero(batch.kind == EVENT)
    work = work[batch.events["is_work"].to_numpy()[batch.event[work]]]
    if work.size:
        parent, step = around.parent[work], around.step[work]
        columns: dict[str, Any] = {"id": batch.id[work], "depth": around.depth[work]}
        columns |= {"parent": nullable(batch.id[parent], parent < 0), "step": nullable(step, step < 0)}
        staging.insert("work_nesting", pa.table(columns))
    for kind, table, column in ((ALLOCATION, "memory_owners", "owner"), (ARROW, "flow_ends", "event")):
        points = batch.kind == kind
        if points.any():
            owner = around.parent[points]
            owners = nullable(batch.id[owner], owner < 0)
            staging.insert(table, pa.table({"row": batch.id[points], column: owners}))


def _host_events(batch: HostBatch, around: Surroundings) -> pa.Table:
    """The events by thread and time as they are stored, with what is around them; without device work."""
    by_time = np.concatenate(
        [low + np.argsort(batch.ts[low:high], kind="stable") for low, high in batch.threads] or [np.zeros(0, np.int64)]
    )
    chosen = by_time[batch.kind[by_time] == EVENT]
    chosen = chosen[~batch.events["is_work"].to_numpy()[batch.event[chosen]]]
    staged = batch.events.select(_STAGED).take(pa.array(batch.event[chosen]))
    parent, step = around.parent[chosen], around.step[chosen]
    columns: dict[str, Any] = {"id": batch.id[chosen], "ts": batch.ts[chosen], "track": batch.track[chosen]}
    columns |= {"depth": around.depth[chosen], "parent": nullable(batch.id[parent], parent < 0)}
    columns |= {"step": nullable(step, step < 0)}
    return pa.table(columns | {name: staged[name] for name in _STAGED})
