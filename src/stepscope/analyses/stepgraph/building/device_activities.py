"""Device activities of the chosen steps, from which the graph is built."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stepscope.analyses.shared.host_waits import blocking_copies
from stepscope.analyses.stepgraph.building.selection import GraphSteps
from stepscope.model.categories import KERNEL_KINDS
from stepscope.model.events.device_work import DeviceWork
from stepscope.model.intervals import Times
from stepscope.model.trace import Trace

Ids = NDArray[np.int64]

#: Kinds of device activities.
COMPUTE, COMM, COPY, MEMSET = range(4)
_KINDS = np.array(
    [{"compute": COMPUTE, "comm": COMM, "copy": COPY}.get(kind, MEMSET) for kind in KERNEL_KINDS], np.int8
)


@dataclass(frozen=True, slots=True)
class GraphActivities:
    """The n device activities launched in the chosen steps, or still running when these start; by start.

    Attributes:
        event: int64[n].
        track: int32[n], their queues.
        ts: int64[n].
        end: int64[n].
        step: int32[n], -1 if they belong to none.
        launch: int64[n], the launching events, -1 if not recorded.
        called: int64[n], start of the launching call; their own where it is not recorded.
        thread: int32[n], track of that call, -1 if not recorded.
        op: int64[n], the operator around that call, which may be on another thread; -1 if not recorded.
        kind: int8[n].
        blocking: bool[n], copies that the host waited for.
        in_graph: bool[n].
    """

    event: Ids
    track: NDArray[np.int32]
    ts: Times
    end: Times
    step: NDArray[np.int32]
    launch: Ids
    called: Times
    thread: NDArray[np.int32]
    op: Ids
    kind: NDArray[np.int8]
    blocking: NDArray[np.bool_]
    in_graph: NDArray[np.bool_]


def read_activities(trace: Trace, selection: GraphSteps) -> GraphActivities:
    """The device activities of the chosen steps."""
    work = DeviceWork.of(trace)
    ends = work.ts + work.dur
    called = np.where(work.launched, work.called, work.ts)
    at = np.flatnonzero(~work.are("sync") & (ends > selection.starts[0]) & (called < selection.ends[-1]))
    at = at[np.lexsort((work.event[at], work.ts[at]))]
    blocking = np.zeros(work.event.size, np.bool_)
    blocking[blocking_copies(trace)] = True
    return GraphActivities(
        work.event[at], work.track[at], work.ts[at], ends[at], work.step[at], work.launch[at], called[at],
        work.thread[at], work.op[at], _KINDS[work.kind[at]], blocking[at], work.in_graph[at],
    )  # fmt: skip
