"""Which host call launched what, by the correlation that it shares with device work."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from stepscope.ingest.derive.host_batch import LAUNCH, HostBatch
from stepscope.ingest.derive.surroundings import Surroundings, nullable
from stepscope.model.intervals import distinct
from stepscope.model.lookup import match
from stepscope.store.staging import Staging

if TYPE_CHECKING:
    from numpy.typing import NDArray

_TABLE_SQL: Final = """
CREATE TABLE launches (correlation BIGINT, launch BIGINT, is_launch BOOLEAN, has_work BOOLEAN, ts BIGINT, dur BIGINT,
    track INTEGER, name_id INTEGER, op BIGINT, module BIGINT, step INTEGER, op_ts BIGINT, op_name_id INTEGER)
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
        self._work: NDArray[np.int64] = distinct(staging.connection.execute(_WORK_SQL).fetchnumpy()["correlation"])
        self._found: list[NDArray[np.int64]] = []
        staging.connection.execute(_TABLE_SQL)

    def add(self, batch: HostBatch, around: Surroundings) -> NDArray[np.int64]:
        """Add the calls of a batch; returns the positions of the operators around them."""
        calls = np.flatnonzero(batch.role >= LAUNCH)
        correlation, is_launch = batch.values("correlation", calls), batch.role[calls] == LAUNCH
        has_work = match(self._work, correlation) >= 0
        known = (correlation > 0) & (is_launch | has_work)
        calls, correlation, is_launch, has_work = (x[known] for x in (calls, correlation, is_launch, has_work))
        first = _first_of_each(correlation, ~is_launch, batch.ts[calls], batch.id[calls])
        calls, correlation, is_launch, has_work = (x[first] for x in (calls, correlation, is_launch, has_work))
        op: NDArray[np.int64] = around.op[calls]
        module, step = around.module[calls], around.step[calls]
        inside = op >= 0
        if not calls.size:
            return op
        self._found.append(correlation)
        columns: dict[str, Any] = {
            "correlation": correlation,
            "launch": batch.id[calls],
            "is_launch": is_launch,
            "has_work": has_work,
            "ts": batch.ts[calls],
            "dur": batch.events["dur"].take(pa.array(batch.event[calls])),
            "track": batch.track[calls],
            "name_id": batch.values("name_id", calls),
            "op": nullable(batch.id[op], ~inside),
            "module": nullable(batch.id[module], module < 0),
            "step": nullable(step, step < 0),
            "op_ts": nullable(batch.ts[op], ~inside),
            "op_name_id": nullable(batch.values("name_id", np.where(inside, op, calls)), ~inside),
        }
        self._staging.insert("launches", pa.table(columns))
        within: NDArray[np.int64] = op[inside]
        return within

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
