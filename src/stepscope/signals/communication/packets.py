"""What collectives moved by SDMA and RDMA, as the Ascend profiler summed it up per operation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from stepscope.model.errors import MissingInputError
from stepscope.signals.signal import Signals, signal

#: One row per operation and transport: bytes and time on all its links, and time of the operation's transfers.
_SQL: Final = """
WITH sums AS (
    SELECT coalesce(step, '') AS step, regexp_extract(subject, '^(.*) (\\S+)$', ['operation', 'transport']) AS what,
        max(value) FILTER (WHERE metric = 'Transit Size(MB)') AS mb,
        max(value) FILTER (WHERE metric = 'Transit Time(ms)') AS ms
    FROM recorded WHERE source = 'bandwidth' AND NOT contains(subject, ' Total Op Info') GROUP BY ALL
), times AS (
    SELECT coalesce(step, '') AS step, subject AS operation, max(value) AS transit FROM recorded
    WHERE source = 'communication' AND metric = 'Transit Time(ms)' GROUP BY ALL
)
SELECT s.step, s.what.transport AS transport, s.mb * 1e6 AS bytes, s.ms * 1e6 AS ns,
    coalesce(t.transit, s.ms) * 1e6 AS moving
FROM sums s LEFT JOIN times t ON t.step = s.step AND t.operation = s.what.operation
WHERE s.what.transport IN ('SDMA', 'RDMA') AND s.mb BETWEEN 1e-6 AND 1e9 AND s.ms BETWEEN 0 AND 1e9
ORDER BY s.step, s.what.operation, transport
"""
_TYPICAL_SQL: Final = "SELECT coalesce(number, step) AS number FROM steps WHERE typical"


@dataclass(frozen=True, slots=True)
class MovedOperations:
    """The n pairs of a collective and a transport that moved data of it.

    Attributes:
        transport: str[n], SDMA or RDMA.
        bytes: float64[n].
        ns: float64[n], time of its transfers, those at once added up.
        moving: float64[n], time in which the operation moved data, ns.
        steps: Number of steps that they are of, 1 without steps.
    """

    transport: NDArray[Any]
    bytes: NDArray[np.float64]
    ns: NDArray[np.float64]
    moving: NDArray[np.float64]
    steps: int

    def by(self, transport: str) -> MovedOperations:
        """Those of one transport."""
        mine = self.transport == transport
        return self.where(mine)

    def where(self, mine: NDArray[np.bool_]) -> MovedOperations:
        """Those that are chosen."""
        return MovedOperations(self.transport[mine], self.bytes[mine], self.ns[mine], self.moving[mine], self.steps)

    @property
    def rate(self) -> float:
        """Bytes per second of all together; 0 for none."""
        return 1e9 * float(self.bytes.sum()) / max(float(self.ns.sum()), 1.0)

    @property
    def ns_per_step(self) -> int:
        """Time in which they moved data per step, ns."""
        return int(self.moving.sum()) // self.steps


@signal()
def moved(s: Signals) -> MovedOperations:
    """Bytes and times of each collective of typical steps by SDMA and by RDMA, from sums of the Ascend profiler."""
    rows = s.trace.columns(_SQL)
    if not rows["step"].size:
        raise MissingInputError.of("links")
    step = rows.pop("step").astype(str)
    typical = np.isin(step, [str(number) for number in s.trace.sql(_TYPICAL_SQL)["number"].to_pylist()])
    if not typical.any():  # sums that name no step, or steps by other numbers
        typical[:] = True
    rows = {name: values[typical] for name, values in rows.items()}
    return MovedOperations(
        rows["transport"].astype(str), rows["bytes"], rows["ns"], rows["moving"], np.unique(step[typical]).size
    )
