"""Operators that device work comes from, and the operators around them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from stepscope.ingest.derive.host_batch import OP, HostBatch
from stepscope.ingest.derive.surroundings import Surroundings, nullable
from stepscope.model.intervals import distinct
from stepscope.model.lookup import match
from stepscope.store.staging import Staging

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: Operators looked at around a launch, from the inside out: custom kernels lie a few calls below the operator known.
_LEVELS: Final = 5

_TABLES_SQL: Final = """
CREATE TABLE op_chain (op BIGINT, level TINYINT, around BIGINT, name_id INTEGER);
CREATE TABLE external_ops (external_id BIGINT, op BIGINT, op_ts BIGINT, op_track INTEGER, op_name_id INTEGER,
    module BIGINT, step INTEGER);
"""
_EXTERNAL_SQL: Final = "SELECT external_id FROM device_work WHERE external_id > 0"


class Operators:
    """Tables `op_chain` and `external_ops`, filled as the host threads are nested.

    `op_chain` has a row for each operator that launches or has the external id of device work, and for some that are
    around it: `level` is 0 for itself. `external_ops` has the operators with external ids of device work.
    """

    def __init__(self, staging: Staging) -> None:
        self._staging = staging
        self._external = distinct(staging.connection.execute(_EXTERNAL_SQL).fetchnumpy()["external_id"])
        staging.connection.execute(_TABLES_SQL)

    def add(self, batch: HostBatch, around: Surroundings, launching: NDArray[np.int64]) -> None:
        """Add operators of a batch: those at positions `launching`, and those with external ids."""
        ops = np.flatnonzero(batch.role == OP)
        external = batch.values("external_id", ops)
        known = match(self._external, external) >= 0
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
        self._staging.insert("external_ops", pa.table(columns))
        self._add_chains(batch, around, distinct(np.append(launching, ops)))

    def _add_chains(self, batch: HostBatch, around: Surroundings, ops: NDArray[np.int64]) -> None:
        outer = ops
        for level in range(_LEVELS):
            columns: dict[str, Any] = {
                "op": batch.id[ops],
                "level": np.full(ops.size, level, np.int8),
                "around": batch.id[outer],
                "name_id": batch.values("name_id", outer),
            }
            self._staging.insert("op_chain", pa.table(columns))
            above = around.parent[outer]
            inner = above >= 0
            inner[inner] = around.op[above[inner]] >= 0
            ops, outer = ops[inner], around.op[above[inner]]
