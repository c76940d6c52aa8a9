"""Derive the launch, operator, module, step and class of device activities."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from stepscope.ingest.derive.activities import COMM, COMPUTE, SYNC, DerivedWork
from stepscope.ingest.derive.costs import find_costs
from stepscope.ingest.derive.device_events import device_events
from stepscope.ingest.derive.host.surroundings import nullable
from stepscope.ingest.derive.host.threads import Hosts
from stepscope.ingest.derive.names.classes import KernelClasses
from stepscope.ingest.derive.overview import Overview
from stepscope.ingest.derive.steps.backlog import backlog
from stepscope.ingest.derive.steps.found import FoundSteps
from stepscope.ingest.derive.work import RecordedWork, taken, words
from stepscope.model.categories import KERNEL_KINDS
from stepscope.model.events.lookup import match
from stepscope.model.intervals import distinct
from stepscope.model.kernel_names import OP_CLASSES, OpClass
from stepscope.model.process.executors import threads_for
from stepscope.store.activities import ACTIVITIES
from stepscope.store.layout import stored_columns
from stepscope.store.staging import Staging

if TYPE_CHECKING:
    from numpy.typing import NDArray

Columns = dict[str, Any]

#: Classes of device activities that are no kernels; kernels are classified by name.
_OTHER_CLASSES: Final[dict[str, OpClass]] = {"comm": "collective", "copy": "copy", "set": "copy", "sync": "other"}
_OF_LAUNCHES: Final = ("launch", "ts", "dur", "track", "name_id", "op", "module", "step", "op_ts", "op_name_id")
_RECORDED: Final = ("grid", "block", "registers", "shared_bytes", "occupancy", "dtype", "op_type", "core")


def derive_kernels(
    staging: Staging, overview: Overview, steps: FoundSteps, work: RecordedWork, hosts: Hosts, names: KernelClasses
) -> tuple[DerivedWork, pa.Table, pa.Table]:
    """Derive all columns of device activities, by time.

    Returns:
        The columns needed for deriving the rest, the stored columns of `activities`, and the events (`device_events`).
    """
    columns: Columns = {name: work.rows[name] for name in ("event", "ts", "track", "name_id", "correlation")}
    columns["dur"] = work.rows["dur"].fill_null(0)
    columns |= _places(overview, work)
    kinds, classes = _classes(work, names)
    columns |= classes
    columns |= _launches(steps, work, hosts)
    activities = _asked(work, kinds, columns)
    compute = np.flatnonzero(kinds == COMPUTE)
    op_class = columns["op_class"].indices.to_numpy()[compute]
    with threads_for(overview.total, 1, "amounts") as executor:
        early = executor.submit(work.joined, staging, "raw_kernels", _RECORDED) if work.is_small else None
        costs = find_costs(staging, hosts.chain, work.event[compute], activities.op[compute], op_class)
        recorded = work.joined(staging, "raw_kernels", _RECORDED) if early is None else early.result()
        columns |= _amounts(staging, work, recorded, costs, columns["dtype"])
    columns |= {name: steps.column(columns[name]) for name in ("step", "launch_step")}
    stored = pa.table({column.name: columns[column.name] for column in stored_columns(ACTIVITIES)})
    return activities, stored, device_events(work, kinds, columns["step"])


def _places(overview: Overview, work: RecordedWork) -> Columns:
    """Device and queue of each activity."""
    tracks = overview.tracks
    at = match(np.array([track.number for track in tracks], np.int64), work.numbers("track"))
    device = pa.array([track.device for track in tracks], pa.int32()).take(pa.array(at))
    return {"device": device, "stream": words(at, [track.stream for track in tracks])}


def _classes(work: RecordedWork, names: KernelClasses) -> tuple[NDArray[np.int8], Columns]:
    """Kind and class of each activity: as recorded, else from its name."""
    at = np.searchsorted(names.name_id, work.numbers("name_id"))
    of_name = np.array([OP_CLASSES.index(known.op_class) for known in names.classes], np.int8)[at]
    recorded = work.numbers("kind")
    from_name = np.where(of_name == OP_CLASSES.index("collective"), COMM, COMPUTE)
    # The last place stands for compute and, at -1, for no recorded kind.
    of_kind = [OP_CLASSES.index(_OTHER_CLASSES[kind]) if kind in _OTHER_CLASSES else -1 for kind in KERNEL_KINDS]
    op_class = np.array([*of_kind, -1], np.int8)[recorded]
    kinds = np.where(recorded < 0, from_name, recorded).astype(np.int8)
    return kinds, {
        "name": words(at, names.names),
        "kind": words(kinds, KERNEL_KINDS),
        "op_class": words(np.where(op_class < 0, of_name, op_class), OP_CLASSES),
        "dtype": words(at, [known.dtype for known in names.classes]),
        "tensor_core": pa.array([known.tensor_core for known in names.classes], pa.bool_()).take(pa.array(at)),
    }


def _launches(steps: FoundSteps, work: RecordedWork, hosts: Hosts) -> Columns:
    """The launch of each activity, and the operator, module and step around it.

    Without an operator around the launch, the external id gives the operator. Work without a recorded launch belongs to
    the step in which it starts, or to none if it was launched before all marked steps.
    """
    launched = match(hosts.launches["correlation"].to_numpy(), work.numbers("correlation"))
    # One column after the other: all of them together take hundreds of MB of a long recording.
    found = {name: taken(hosts.launches.select([name]), launched)[name] for name in _OF_LAUNCHES}
    columns: Columns = {f"launch_{name}": found[name] for name in ("ts", "dur", "track", "name_id", "step")}
    columns |= {name: found[name] for name in ("launch", "op", "module", "step", "op_ts", "op_name_id")}
    columns["op_track"] = pc.if_else(found["op"].is_valid(), found["track"], None)
    lost = found["op"].is_null()
    by_id = _external_ops(work, hosts.external, lost)
    if by_id is not None:
        # Work belongs to its operator's step, or to its launch's if the launch lies outside every operator.
        step = pc.if_else(lost, pc.coalesce(by_id["step"], found["step"]), found["step"])
        columns |= {name: pc.coalesce(columns[name], by_id[name]) for name in ("op", "module", "op_ts", "op_name_id")}
        columns |= {"op_track": pc.coalesce(columns["op_track"], by_id["op_track"]), "step": step}
    if (launched < 0).any():
        at = steps.at(work.ts)
        if steps.marked:
            real = work.numbers("kind") != SYNC
            at[backlog(work.by_track, work.numbers("track"), (launched >= 0) & real)] = -1
        columns["step"] = pc.coalesce(columns["step"], nullable(at, (at < 0) | (launched >= 0)))
    columns["graph"] = pc.if_else(_in_graph(work, found["launch"].fill_null(-1).to_numpy()), found["launch"], None)
    return columns


def _external_ops(work: RecordedWork, ops: pa.Table, lost: pa.ChunkedArray) -> pa.Table | None:
    """The operator (the last of several) with the external id of each work without launch; None if there are none."""
    external = np.where(lost.to_numpy(), work.numbers("external_id"), -1)
    matching = np.flatnonzero(match(distinct(external[external > 0]), ops["external_id"].to_numpy()) >= 0)
    if not matching.size:
        return None
    ops = ops.take(pa.array(matching[np.argsort(-ops["op"].to_numpy()[matching], kind="stable")]))
    return taken(ops, match(ops["external_id"].to_numpy(), external))


def _in_graph(work: RecordedWork, launch: NDArray[np.int64]) -> pa.Array:
    """Whether a graph launched each activity: as recorded, else true where one launch has several kernels.

    Copies and waits may share a launch without a graph.
    """
    recorded = work.numbers("kind")
    several = launch[((recorded < 0) | (recorded == COMPUTE) | (recorded == COMM)) & (launch >= 0)]
    several.sort()
    shared = match(distinct(several[1:][several[1:] == several[:-1]]), launch) >= 0
    return pc.coalesce(work.rows["in_graph"], pa.array(shared))


def _asked(work: RecordedWork, kinds: NDArray[np.int8], columns: Columns) -> DerivedWork:
    """The columns needed for deriving the rest."""
    launch, launch_ts, op, module, step = (
        columns[name].fill_null(-1).to_numpy() for name in ("launch", "launch_ts", "op", "module", "step")
    )
    return DerivedWork(
        work.event, work.ts, columns["dur"].to_numpy(), work.numbers("dur") == 0, work.by_track, work.numbers("track"),
        columns["device"], work.numbers("name_id"), kinds, launch, launch_ts, op, module, step,
        columns["graph"].is_valid().to_numpy(),
    )  # fmt: skip


def _amounts(staging: Staging, work: RecordedWork, recorded: Columns, costs: pa.Table, dtype: pa.Array) -> Columns:
    """Bytes, FLOPs and types: as recorded, else from the costs of operators."""
    costs = work.joined_with(costs)
    columns: Columns = {name: recorded[name] for name in _RECORDED if name != "dtype"}
    columns |= {"flops": costs["flops"], "bytes": costs["bytes"]}
    if staging.may_have("copies"):
        copied = work.joined_with(staging.connection.sql("SELECT event, bytes FROM copies").to_arrow_table())
        columns["bytes"] = pc.coalesce(copied["bytes"], costs["bytes"])
    if recorded["dtype"].null_count < work.event.size:
        columns["dtype"] = pc.coalesce(recorded["dtype"], dtype.cast(pa.string()))
    return columns
