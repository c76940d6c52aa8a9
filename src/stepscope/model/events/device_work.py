"""Device activities of one rank as NumPy columns, with their launches."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from stepscope.model.categories import KERNEL_KINDS
from stepscope.model.coding import among, code
from stepscope.model.events.columns import Ids
from stepscope.model.intervals import Times
from stepscope.model.kernel_names import OP_CLASSES, OpClass
from stepscope.model.trace import Trace

_DEVICE_SQL: Final = f"""
SELECT event, track, ts, dur, coalesce(device, -1)::INTEGER AS device, coalesce(step, -1)::INTEGER AS step,
    {code("kind", KERNEL_KINDS)} AS kind, {code("op_class", OP_CLASSES)} AS op_class, name_id AS name,
    coalesce(launch, -1) AS launch, coalesce(op, -1) AS op, graph IS NOT NULL AS in_graph,
    launch_ts IS NOT NULL AS launched, coalesce(launch_track, -1)::INTEGER AS thread, coalesce(launch_ts, -1) AS called,
    coalesce(launch_dur, -1) AS call_ns, coalesce(launch_step, -1)::INTEGER AS call_step,
    coalesce(launch_name_id, -1)::INTEGER AS call_name, coalesce(op_track, -1)::INTEGER AS op_thread
FROM activities
"""


@dataclass(frozen=True, slots=True, eq=False)
class DeviceWork:
    """The n device activities of a trace of one rank, in no particular order.

    Attributes:
        event: int64[n].
        track: int32[n].
        ts: int64[n].
        dur: int64[n].
        device: int32[n]; -1 if not recorded.
        step: int32[n]; -1 outside every step.
        kind: int8[n], position in `KERNEL_KINDS`.
        op_class: int8[n], position in `OP_CLASSES`.
        name: int32[n], `name_id`.
        launch: int64[n], the launching event; -1 if not recorded.
        op: int64[n], the operator around it; -1 if not recorded.
        in_graph: bool[n].
        launched: bool[n], whether the trace has the launching event. The columns below describe that event; -1 if not.
        thread: int32[n], track.
        called: int64[n], start in ns.
        call_ns: int64[n], duration in ns; -1 if not recorded.
        call_step: int32[n], step; -1 outside every step.
        call_name: int32[n], `name_id`.
        op_thread: int32[n], track of the operator; -1 if the trace lacks it.
    """

    event: Ids
    track: NDArray[np.int32]
    ts: Times
    dur: Times
    device: NDArray[np.int32]
    step: NDArray[np.int32]
    kind: NDArray[np.int8]
    op_class: NDArray[np.int8]
    name: NDArray[np.int32]
    launch: Ids
    op: Ids
    in_graph: NDArray[np.bool_]
    launched: NDArray[np.bool_]
    thread: NDArray[np.int32]
    called: Times
    call_ns: Times
    call_step: NDArray[np.int32]
    call_name: NDArray[np.int32]
    op_thread: NDArray[np.int32]

    @classmethod
    def of(cls, trace: Trace) -> DeviceWork:
        """Those of a trace, read once."""
        return trace.once(_device_work)

    def rows(self, trace: Trace, events: Ids) -> Ids:
        """Positions of activities by event id; all must be in this trace."""
        order = trace.once(_by_event)
        found: Ids = order[np.searchsorted(self.event, events, sorter=order)]
        return found

    def is_class(self, *classes: OpClass) -> NDArray[np.bool_]:
        """Whether each activity is of one of these classes, bool[n]."""
        return among(self.op_class, OP_CLASSES, classes)

    def are(self, *kinds: str) -> NDArray[np.bool_]:
        """Whether each activity is of one of these kinds, bool[n]."""
        return among(self.kind, KERNEL_KINDS, kinds)


def _device_work(trace: Trace) -> DeviceWork:
    rows = trace.columns(_DEVICE_SQL, many=True)
    return DeviceWork(**{one.name: rows[one.name] for one in fields(DeviceWork)})


def by_event(trace: Trace, rows: dict[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """Reorder rows that cover all of `kernels`, each with its `event`, to the order of `DeviceWork`."""
    events = DeviceWork.of(trace).event
    if np.array_equal(rows["event"], events):
        return rows
    order = np.argsort(rows["event"], kind="stable")
    at = order[np.searchsorted(rows["event"], events, sorter=order)]
    return {name: values[at] for name, values in rows.items()}


def _by_event(trace: Trace) -> Ids:
    """Positions in `DeviceWork` by event."""
    return np.argsort(DeviceWork.of(trace).event, kind="stable")
