"""Columns of derived device activities that later steps of deriving need."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from stepscope.model.categories import KERNEL_KINDS
from stepscope.model.intervals import Times

if TYPE_CHECKING:
    from numpy.typing import NDArray

COMPUTE, COMM, SYNC = (KERNEL_KINDS.index(kind) for kind in ("compute", "comm", "sync"))


@dataclass(frozen=True, slots=True)
class DerivedWork:
    """n device activities by start time; -1 stands for none.

    Attributes:
        event: int64[n], event id.
        ts: int64[n], start in ns.
        dur: int64[n], duration in ns; 0 where not recorded.
        instant: bool[n], whether a duration of 0 is recorded.
        by_track: int64[n], positions sorted by track, then by time.
        track: int32[n].
        device: int32[n], null where not recorded.
        name_id: int32[n].
        kind: int8[n], position in `KERNEL_KINDS`.
        launch: int64[n], id of the launching event.
        launch_ts: int64[n], its start in ns; -1 without launch.
        op: int64[n], id of the operator around the launch.
        module: int64[n], id of the module or annotation around the launch.
        step: int32[n], position among the steps.
        in_graph: bool[n], whether a known launch of a graph launched it.
    """

    event: NDArray[np.int64]
    ts: Times
    dur: Times
    instant: NDArray[np.bool_]
    by_track: NDArray[np.int64]
    track: NDArray[np.int32]
    device: pa.Array
    name_id: NDArray[np.int32]
    kind: NDArray[np.int8]
    launch: NDArray[np.int64]
    launch_ts: Times
    op: NDArray[np.int64]
    module: NDArray[np.int64]
    step: NDArray[np.int32]
    in_graph: NDArray[np.bool_]
