"""Nesting of host threads: depth, parent, and the operator and module around every event."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from stepscope.model.intervals import Times
from stepscope.model.nesting import Nesting, nearest, nest
from stepscope.store.staging import Staging

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: Threads are nested in batches of about this many events, which bounds memory to about 200 bytes each.
_BATCH_EVENTS: Final = 1_500_000

_NESTING_SQL: Final = (
    "CREATE TABLE nesting (id BIGINT, depth INTEGER, parent BIGINT, op BIGINT, outer_op BIGINT, module BIGINT, "
    "step INTEGER)"
)


def nest_hosts(staging: Staging) -> None:
    """Fill `nesting` for all events on host tracks, and the owners of allocations and ends of arrows.

    Allocations and arrow ends are points on a thread: they take part in the nesting as events of no length,
    so that whatever encloses them is their parent.
    """
    connection = staging.connection
    connection.execute(_NESTING_SQL)
    connection.execute("CREATE TABLE memory_owners (row BIGINT, owner BIGINT)")
    connection.execute("CREATE TABLE flow_ends (row BIGINT, event BIGINT)")
    steps = connection.execute("SELECT ts, ts + dur AS stop FROM raw_steps ORDER BY ts").fetchnumpy()
    clipped = 0
    for tracks in _batches(staging):
        clipped += _nest_batch(staging, tracks, steps)
    staging.observe(
        "nesting-repaired",
        "info",
        clipped,
        "host events outlive the event that encloses them",
        "each is cut at its parent's end when self times are computed",
    )


def _batches(staging: Staging) -> Iterator[list[int]]:
    batch: list[int] = []
    events = 0
    rows = staging.connection.execute(
        "SELECT track, count(*) FROM raw_events JOIN tracks USING (track) WHERE kind = 'host' GROUP BY 1 ORDER BY 1"
    ).fetchall()
    for track, count in rows:
        if batch and events + count > _BATCH_EVENTS:
            yield batch
            batch, events = [], 0
        batch.append(track)
        events += count
    if batch:
        yield batch


def _nest_batch(staging: Staging, tracks: list[int], steps: dict[str, NDArray[Any]]) -> int:
    """Nest the threads `tracks`; returns how many events had to be clipped to their parent."""
    chosen = ", ".join(map(str, tracks))
    points = (
        f"SELECT track, ts, 0 AS dur, rowid AS id, 0 AS is_op, 0 AS is_module, 0 AS is_frame, {{kind}} AS kind "
        f"FROM {{table}} "
        f"WHERE track IN ({chosen})"
    )
    rows = staging.connection.execute(
        "SELECT track, ts, coalesce(dur, 0) AS dur, id, (category = 'op')::UTINYINT AS is_op, "
        "(category IN ('module', 'annotation'))::UTINYINT AS is_module, (category = 'python')::UTINYINT AS is_frame, "
        "0::UTINYINT AS kind "
        f"FROM raw_events WHERE track IN ({chosen}) UNION ALL "
        + points.format(kind=1, table="raw_memory")
        + " UNION ALL "
        + points.format(kind=2, table="raw_flows")
        + " ORDER BY track, kind, id"
    ).fetchnumpy()
    n = len(rows["id"])
    depth = np.zeros(n, dtype=np.int32)
    parent = np.full(n, -1, dtype=np.int64)
    edges = np.flatnonzero(np.diff(rows["track"])) + 1
    clipped = 0
    for low, high in zip([0, *edges.tolist()], [*edges.tolist(), n], strict=True):
        ts = rows["ts"][low:high]
        nesting = _nest_thread(ts, ts + rows["dur"][low:high], rows["is_frame"][low:high].astype(bool))
        depth[low:high] = nesting.depth
        parent[low:high] = np.where(nesting.parent < 0, -1, nesting.parent + low)
        clipped += nesting.clipped
    _store_batch(staging, rows, depth, parent, steps)
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


def _store_batch(
    staging: Staging,
    rows: dict[str, NDArray[Any]],
    depth: NDArray[np.int32],
    parent: NDArray[np.int64],
    steps: dict[str, NDArray[Any]],
) -> None:
    ids = rows["id"]
    op = nearest(rows["is_op"].astype(bool), depth, parent)
    module = nearest(rows["is_module"].astype(bool), depth, parent)
    # The operator around an operator: what is nearest to the parent of the innermost one.
    above = np.where(op < 0, -1, parent[op])
    outer = np.where(above < 0, -1, op[above])
    event = rows["kind"] == 0
    nesting = pa.table(
        {
            "id": ids[event],
            "depth": depth[event],
            "parent": _ids(parent, ids)[event],
            "op": _ids(op, ids)[event],
            "outer_op": _ids(outer, ids)[event],
            "module": _ids(module, ids)[event],
            "step": step_at(rows["ts"], steps)[event],
        }
    )
    staging.insert("nesting", _with_nulls(nesting))
    for kind, table, column in ((1, "memory_owners", "owner"), (2, "flow_ends", "event")):
        points = rows["kind"] == kind
        if points.any():
            ends = pa.table({"row": ids[points], column: _ids(parent, ids)[points]})
            staging.insert(table, _with_nulls(ends))


def step_at(ts: NDArray[np.int64], steps: dict[str, NDArray[Any]]) -> NDArray[np.int32]:
    """Index of the step that each time falls in, -1 where none; `steps` ascend and do not overlap."""
    index = np.searchsorted(steps["ts"], ts, side="right") - 1
    if not len(steps["ts"]):
        return index.astype(np.int32)
    inside = (index >= 0) & (ts < steps["stop"][index])
    return np.where(inside, index, -1).astype(np.int32)


def _ids(index: NDArray[np.int64], ids: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.where(index < 0, -1, ids[index])


def _with_nulls(table: pa.Table) -> pa.Table:
    """Replace -1, which stands for "none" in NumPy, by null."""
    columns = []
    for name in table.column_names:
        values = table[name].to_numpy()
        columns.append(pa.array(values, mask=values == -1) if name not in ("id", "row") else table[name])
    return pa.Table.from_arrays(columns, names=table.column_names)
