"""Find the operators that launch device work, and the operators around them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from stepscope.ingest.derive.host.batches import OP, HostBatch
from stepscope.ingest.derive.host.surroundings import Surroundings, nullable
from stepscope.ingest.derive.work import RecordedWork
from stepscope.model.events.lookup import match
from stepscope.model.intervals import distinct

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: Most operators examined around a launch, from the inside out: custom kernels lie a few calls below a known operator.
_LEVELS: Final = 5

#: A row for each operator `op` that launches device work or has its external id (`level` 0), and for operators `around`
#: it, from the inside out (level 1 and up), with the name of `around`.
CHAIN: Final = pa.schema([("op", pa.int64()), ("level", pa.int8()), ("around", pa.int64()), ("name_id", pa.int32())])
#: The operators with external ids of device work.
EXTERNAL: Final = pa.schema(
    [
        ("external_id", pa.int64()), ("op", pa.int64()), ("op_ts", pa.int64()), ("op_track", pa.int32()),
        ("op_name_id", pa.int32()), ("module", pa.int64()), ("step", pa.int32()),
    ]
)  # fmt: skip


class OperatorFinder:
    """Find the operators of device work in nested host threads."""

    def __init__(self, work: RecordedWork) -> None:
        external = work.numbers("external_id")
        self._wanted: NDArray[np.int64] = distinct(external[external > 0])

    def find(
        self, batch: HostBatch, around: Surroundings, launching: NDArray[np.int64]
    ) -> tuple[list[pa.Table], pa.Table]:
        """Find the operators of a batch at positions `launching`, and those with external ids.

        Returns:
            The parts of a table like `CHAIN`, and a table like `EXTERNAL`.
        """
        if not self._wanted.size:
            return _chains(batch, around, distinct(launching)), EXTERNAL.empty_table()
        ops = np.flatnonzero(batch.role == OP)
        external = batch.values("external_id", ops)
        known = match(self._wanted, external) >= 0
        ops, external = ops[known], external[known]
        module, step = around.module[ops], around.step[ops]
        columns: dict[str, Any] = {
            "external_id": external,
            "op": batch.id[ops],
            "op_ts": batch.ts[ops],
            "op_track": batch.track[ops],
            "op_name_id": batch.values("name_id", ops),
            "module": nullable(batch.id[module], module < 0),
            "step": nullable(step, step < 0),
        }
        chains = _chains(batch, around, distinct(np.append(launching, ops)))
        return chains, pa.table(columns, schema=EXTERNAL)


def _chains(batch: HostBatch, around: Surroundings, ops: NDArray[np.int64]) -> list[pa.Table]:
    """These operators and those around them, one table per level."""
    found = []
    outer = ops
    for level in range(_LEVELS):
        columns: dict[str, Any] = {
            "op": batch.id[ops],
            "level": np.full(ops.size, level, np.int8),
            "around": batch.id[outer],
            "name_id": batch.values("name_id", outer),
        }
        found.append(pa.table(columns, schema=CHAIN))
        above = around.parent[outer]
        inner = above >= 0
        inner[inner] = around.op[above[inner]] >= 0
        ops, outer = ops[inner], around.op[above[inner]]
        if not ops.size:
            break
    return found
