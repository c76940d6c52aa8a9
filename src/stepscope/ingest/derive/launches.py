"""Which host call launched what, by the correlation that it shares with device work."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from stepscope.ingest.derive.host_batch import EVENT, LAUNCH, HostBatch
from stepscope.ingest.derive.surroundings import Surroundings, nullable
from stepscope.store.staging import Staging

if TYPE_CHECKING:
    from numpy.typing import NDArray

_TABLE_SQL: Final = """
CREATE TABLE launches (correlation BIGINT, launch BIGINT, is_launch BOOLEAN, ts BIGINT, dur BIGINT, track INTEGER,
    name_id INTEGER, op BIGINT, module BIGINT, step INTEGER, op_ts BIGINT, op_name_id INTEGER)
"""
_WORK_SQL: Final = "SELECT correlation FROM device_work WHERE correlation > 0"
_FIRST_SQL: Final = """
CREATE OR REPLACE TABLE launches AS SELECT * FROM launches
QUALIFY row_number() OVER (PARTITION BY correlation ORDER BY NOT is_launch, ts, launch) = 1
"""


class Launches:
    """Table `launches`, filled as the host threads are nested: one row per correlation of a launch call or device work.

    Where a correlation names several host calls (a runtime call and the driver call inside it), the launch call counts
    before any other, and the outermost before the inner one.
    """

    def __init__(self, staging: Staging) -> None:
        self._staging = staging
        self._work: NDArray[np.int64] = staging.connection.execute(_WORK_SQL).fetchnumpy()["correlation"]
        self._found: list[NDArray[np.int64]] = []
        staging.connection.execute(_TABLE_SQL)

    def add(self, batch: HostBatch, around: Surroundings) -> None:
        """Add the calls of a batch."""
        correlation = batch.column("correlation", 0)
        calls = np.flatnonzero((batch.kind == EVENT) & (batch.role >= LAUNCH) & (correlation > 0))
        is_launch = batch.role[calls] == LAUNCH
        known = is_launch | np.isin(correlation[calls], self._work)
        calls, is_launch = calls[known], is_launch[known]
        first = _first_of_each(correlation[calls], ~is_launch, batch.ts[calls], batch.id[calls])
        calls, is_launch = calls[first], is_launch[first]
        if not calls.size:
            return
        self._found.append(correlation[calls])
        op, name = around.op[calls], batch.column("name_id")
        columns: dict[str, Any] = {
            "correlation": correlation[calls],
            "launch": batch.id[calls],
            "is_launch": is_launch,
            "ts": batch.ts[calls],
            "dur": batch.events["dur"].take(pa.array(batch.event[calls])),
            "track": batch.track[calls],
            "name_id": name[calls],
            "op": nullable(batch.id[op], op < 0),
            "module": nullable(batch.id[around.module[calls]], around.module[calls] < 0),
            "step": nullable(around.step[calls], around.step[calls] < 0),
            "op_ts": nullable(batch.ts[op], op < 0),
            "op_name_id": nullable(name[op], op < 0),
        }
        self._staging.insert("launches", pa.table(columns))

    def finish(self) -> None:
        """Leave one call per correlation, should calls of several batches share one."""
        found = np.sort(np.concatenate(self._found)) if len(self._found) > 1 else np.zeros(0, np.int64)
        if (found[1:] == found[:-1]).any():
            self._staging.connection.execute(_FIRST_SQL)


def _first_of_each(key: NDArray[np.int64], *by: NDArray[Any]) -> NDArray[np.int64]:
    """Positions of the rows that come first by `by` of each key, by key."""
    order = np.argsort(key, kind="stable")
    again = key[order[1:]] == key[order[:-1]]
    if again.any():
        tied = np.flatnonzero(np.append(again, False) | np.append(False, again))
        members = order[tied]
        order[tied] = members[np.lexsort((*(values[members] for values in reversed(by)), key[members]))]
    first: NDArray[np.int64] = order[np.append(True, ~again)] if order.size else order
    return first
