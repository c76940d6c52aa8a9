"""Match host calls to the device work they launch, by correlation id."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from stepscope.ingest.derive.host.batches import LAUNCH, HostBatch
from stepscope.ingest.derive.host.surroundings import Surroundings, nullable
from stepscope.ingest.derive.work import RecordedWork
from stepscope.model.events.lookup import match
from stepscope.model.intervals import distinct, ordered

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from stepscope.store.staging import Staging

#: Columns of the call, and of its enclosing events.
_COLUMNS: Final = pa.schema(
    [
        ("correlation", pa.int64()), ("launch", pa.int64()), ("is_launch", pa.bool_()), ("has_work", pa.bool_()),
        ("ts", pa.int64()), ("dur", pa.int64()), ("track", pa.int32()), ("name_id", pa.int32()), ("op", pa.int64()),
        ("module", pa.int64()), ("step", pa.int32()), ("op_ts", pa.int64()), ("op_name_id", pa.int32()),
    ]
)  # fmt: skip

_SETS_SQL: Final = "SELECT name_id FROM names WHERE contains(lower(name), 'memset')"


@dataclass(frozen=True, slots=True)
class DerivedLaunches:
    """The launches of a recording in numbers.

    Attributes:
        number: How many there are.
        alone: How many have no device work.
        behind: How many of these are later than every launch that has.
        latest: Start of the last of those, in ns.
        first: The lowest correlation id; 0 for none.
    """

    number: int
    alone: int
    behind: int
    latest: int
    first: int


class LaunchFinder:
    """Find launches in nested host threads: one host call per correlation id of a launch call or device work.

    If several host calls share a correlation id (a runtime call and the driver call inside it), a launch call is
    preferred to any other, then the outermost.
    """

    def __init__(self, work: RecordedWork) -> None:
        correlation = work.numbers("correlation")
        self._work: NDArray[np.int64] = distinct(correlation[correlation > 0])

    def find(self, batch: HostBatch, around: Surroundings) -> tuple[pa.Table, NDArray[np.int64]]:
        """The launching calls of a batch, and the positions of the operators around them."""
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
            return _COLUMNS.empty_table(), op
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
        return pa.table(columns, schema=_COLUMNS), op[inside]


def first_launches(parts: list[pa.Table]) -> pa.Table:
    """The launches of all batches: one per correlation id, in case several batches share one."""
    found = pa.concat_tables([_COLUMNS.empty_table(), *parts])
    correlation = found["correlation"].to_numpy()
    if len(parts) < 2 or distinct(correlation).size == correlation.size:
        return found
    numbers = (found[name].to_numpy() for name in ("ts", "launch"))
    return found.take(pa.array(_first_of_each(correlation, ~found["is_launch"].to_numpy(), *numbers)))


def counted(staging: Staging, launches: pa.Table) -> DerivedLaunches:
    """The launches of a recording in numbers; setting no bytes is no work."""
    is_launch, has_work, name = (launches[column].to_numpy() for column in ("is_launch", "has_work", "name_id"))
    correlation, ts = launches["correlation"].to_numpy(), launches["ts"].to_numpy()
    alone = is_launch & ~has_work
    if alone.any():
        alone &= ~np.isin(name, staging.connection.execute(_SETS_SQL).fetchnumpy()["name_id"])
    # Queues are first in, first out: behind the last work that ran nothing else can have run.
    behind = alone & (ts > ts[is_launch & has_work].max(initial=np.iinfo(np.int64).min))
    return DerivedLaunches(
        number=int(np.count_nonzero(is_launch)),
        alone=int(np.count_nonzero(alone)),
        behind=int(np.count_nonzero(behind)),
        latest=int(ts[behind].max(initial=0)),
        first=int(correlation.min()) if correlation.size else 0,
    )


def _first_of_each(key: NDArray[np.int64], *by: NDArray[Any]) -> NDArray[np.int64]:
    """Position of the first row by `by` for each key, sorted by key."""
    order = ordered(key, *by)
    again = key[order[1:]] == key[order[:-1]]
    first: NDArray[np.int64] = order[np.append(True, ~again)] if order.size else order
    return first
