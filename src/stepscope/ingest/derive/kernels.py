"""Device activity: its launch, operator, module, step and class."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from stepscope.ingest.derive.costs import find_costs
from stepscope.ingest.derive.device_events import device_events
from stepscope.ingest.derive.name_classes import NameClasses
from stepscope.ingest.derive.surroundings import nullable, step_at
from stepscope.ingest.derive.work import Work, taken, words
from stepscope.model.categories import KERNEL_KINDS
from stepscope.model.intervals import distinct
from stepscope.model.kernel_names import OP_CLASSES, OpClass
from stepscope.model.lookup import match
from stepscope.store.activities import ACTIVITIES
from stepscope.store.layout import stored_columns
from stepscope.store.staging import Staging

if TYPE_CHECKING:
    from numpy.typing import NDArray

Columns = dict[str, Any]

#: Operators by the external id of work; of several the last.
_EXTERNAL_SQL: Final = """
SELECT * FROM external_ops SEMI JOIN lost USING (external_id)
QUALIFY row_number() OVER (PARTITION BY external_id ORDER BY op DESC) = 1
"""
#: The columns that queries of other parts ask of.
_KERNELS_SQL: Final = """
CREATE TABLE kernels AS
SELECT event, ts, dur, track, device, name_id, kind, op_class, launch, op, module, step,
    correlation, graph, launch_ts
FROM derived
"""
#: Classes of device activities that are no kernels; the class of a kernel is that of its name.
_OTHER_CLASSES: Final[dict[str, OpClass]] = {"comm": "collective", "copy": "copy", "set": "copy", "sync": "other"}
_OF_LAUNCHES: Final = ("launch", "ts", "dur", "track", "name_id", "op", "module", "step", "op_ts", "op_name_id")
_RECORDED: Final = ("grid", "block", "registers", "shared_bytes", "occupancy", "dtype", "op_type", "core")


def derive_kernels(staging: Staging, names: NameClasses) -> tuple[pa.Table, pa.Table]:
    """Find all there is to know about device activities, by time.

    Returns:
        The columns of `activities` as they are stored, and the events (`device_events`). Table `kernels` has what is
        asked of later.
    """
    work = Work.read(staging)
    columns: Columns = {name: work.rows[name] for name in ("event", "ts", "track", "name_id", "correlation")}
    columns["dur"] = work.rows["dur"].fill_null(0)
    columns |= _places(staging, work)
    columns |= _classes(work, names)
    columns |= _launches(staging, work)
    staging.connection.register("derived", pa.table(columns))
    staging.connection.execute(_KERNELS_SQL)
    staging.connection.unregister("derived")
    compute = np.flatnonzero(columns["kind"].indices.to_numpy() == KERNEL_KINDS.index("compute"))
    op = columns["op"].fill_null(-1).to_numpy()
    costs = find_costs(staging, work.event[compute], op[compute], columns["op_class"].indices.to_numpy()[compute])
    columns |= _amounts(staging, work, costs, columns["dtype"])
    activities = pa.table({column.name: columns[column.name] for column in stored_columns(ACTIVITIES)})
    return activities, device_events(work, columns["kind"], columns["step"])


def _places(staging: Staging, work: Work) -> Columns:
    """Device and queue of each activity."""
    rows = staging.connection.execute("SELECT track, device, stream FROM tracks ORDER BY track").fetchall()
    at = match(np.array([track for track, *_ in rows], np.int64), work.numbers("track"))
    device = pa.array([device for _, device, _ in rows], pa.int32()).take(pa.array(at))
    return {"device": device, "stream": words(at, [stream for *_, stream in rows])}


def _classes(work: Work, names: NameClasses) -> Columns:
    """What each activity is: what was recorded of it counts before what its name tells."""
    at = np.searchsorted(names.name_id, work.numbers("name_id"))
    of_name = np.array([OP_CLASSES.index(known.op_class) for known in names.classes], np.int8)[at]
    kind = pc.index_in(work.rows["kind"], value_set=pa.array(KERNEL_KINDS)).fill_null(-1).to_numpy()
    from_name = np.where(
        of_name == OP_CLASSES.index("collective"), KERNEL_KINDS.index("comm"), KERNEL_KINDS.index("compute")
    )
    # The last is that of what is recorded as compute or, at -1, as nothing.
    of_kind = [OP_CLASSES.index(_OTHER_CLASSES[kind]) if kind in _OTHER_CLASSES else -1 for kind in KERNEL_KINDS]
    op_class = np.array([*of_kind, -1], np.int8)[kind]
    return {
        "name": words(at, names.names),
        "kind": words(np.where(kind < 0, from_name, kind), KERNEL_KINDS),
        "op_class": words(np.where(op_class < 0, of_name, op_class), OP_CLASSES),
        "dtype": words(at, [known.dtype for known in names.classes]),
        "tensor_core": pa.array([known.tensor_core for known in names.classes], pa.bool_()).take(pa.array(at)),
    }


def _launches(staging: Staging, work: Work) -> Columns:
    """What launched each activity, and what is around that.

    Where the launch tells no operator, the external id may. Work whose launch was not recorded belongs to the step in
    which it begins.
    """
    found = work.joined(staging, "launches", "correlation", "correlation", _OF_LAUNCHES)
    unlaunched = found["launch"].is_null().to_numpy()
    columns: Columns = {f"launch_{name}": found[name] for name in ("ts", "dur", "track", "name_id", "step")}
    columns |= {name: found[name] for name in ("launch", "op", "module", "step", "op_ts", "op_name_id")}
    columns["op_track"] = pc.if_else(found["op"].is_valid(), found["track"], None)
    lost = found["op"].is_null()
    by_id = _external_ops(staging, work, lost)
    if by_id is not None:
        # Of a launch outside every operator the operator's step counts, else the launch's.
        step = pc.if_else(lost, pc.coalesce(by_id["step"], found["step"]), found["step"])
        columns |= {name: pc.coalesce(columns[name], by_id[name]) for name in ("op", "module", "op_ts", "op_name_id")}
        columns |= {"op_track": pc.coalesce(columns["op_track"], by_id["op_track"]), "step": step}
    if unlaunched.any():
        steps = staging.connection.execute("SELECT ts, ts + dur AS stop FROM raw_steps ORDER BY ts").fetchnumpy()
        at = step_at(work.rows["ts"].to_numpy(), steps)
        columns["step"] = pc.coalesce(columns["step"], nullable(at, (at < 0) | ~unlaunched))
    columns["graph"] = pc.if_else(_in_graph(work, found["launch"].fill_null(-1).to_numpy()), found["launch"], None)
    return columns


def _external_ops(staging: Staging, work: Work, lost: pa.ChunkedArray) -> pa.Table | None:
    """The operators that the external ids of lost work tell, row by row; None if there are none."""
    external = np.where(lost.to_numpy(), work.numbers("external_id"), -1)
    wanted = np.unique(external[external > 0])
    if not wanted.size:
        return None
    staging.connection.register("lost", pa.table({"external_id": wanted}))
    found = staging.connection.sql(_EXTERNAL_SQL).to_arrow_table()
    staging.connection.unregister("lost")
    return taken(found, match(found["external_id"].to_numpy(), external))


def _in_graph(work: Work, launch: NDArray[np.int64]) -> pa.Array:
    """Whether a graph launched each activity: as recorded, else where one launch has several kernels.

    Copies and waits may share a launch without a graph.
    """
    kernels = pc.is_in(work.rows["kind"].fill_null("compute"), value_set=pa.array(["compute", "comm"])).to_numpy()
    several = launch[kernels & (launch >= 0)]
    several.sort()
    shared = match(distinct(several[1:][several[1:] == several[:-1]]), launch) >= 0
    return pc.coalesce(work.rows["in_graph"], pa.array(shared))


def _amounts(staging: Staging, work: Work, costs: pa.Table, dtype: pa.Array) -> Columns:
    """Sizes as recorded, and those that follow from operators."""
    recorded = work.joined(staging, "raw_kernels", "event", "event", _RECORDED)
    copied = work.told_by(staging.connection.sql("SELECT event, bytes FROM copies").to_arrow_table())
    costs = work.told_by(costs)
    columns: Columns = {name: recorded[name] for name in _RECORDED if name != "dtype"}
    columns |= {"flops": costs["flops"], "bytes": pc.coalesce(copied["bytes"], costs["bytes"])}
    if recorded["dtype"].null_count < work.event.size:
        columns["dtype"] = pc.coalesce(recorded["dtype"], dtype.cast(pa.string()))
    return columns
