"""Single transfers of collectives, where the library recorded them (HCCL): sizes, links and rates."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from stepscope.model.errors import MissingInputError
from stepscope.model.intervals import Intervals, Times
from stepscope.signals.signal import Signals, signal

_SQL: Final = """
SELECT p.event, p.collective, s.ts, s.dur, p.bytes, upper(coalesce(p.transport, '')) AS transport
FROM comm_tasks p JOIN spans s ON s.id = p.event
WHERE p.collective IS NOT NULL AND p.kind IN ('copy', 'reduce', 'send') AND coalesce(p.link, '') <> 'ON_CHIP'
    AND p.bytes > 0 AND s.dur > 0
ORDER BY s.ts, p.event
"""
_MATMUL_SQL: Final = "SELECT ts, ts + dur AS stop FROM kernels WHERE op_class = 'gemm'"
#: The device's own engine moves data in chunks of this many bytes.
ALIGNMENT: Final = 512


@dataclass(frozen=True, slots=True)
class Parts:
    """The n transfers over links, in time order.

    Attributes:
        event: int64[n].
        collective: int64[n], the collective's event.
        ts: int64[n].
        dur: int64[n].
        bytes: int64[n].
        transport: str[n], SDMA, RDMA, ...
    """

    event: NDArray[np.int64]
    collective: NDArray[np.int64]
    ts: Times
    dur: Times
    bytes: NDArray[np.int64]
    transport: NDArray[Any]

    def where(self, chosen: NDArray[np.bool_]) -> Parts:
        """A selection of the transfers."""
        return Parts(*(getattr(self, one.name)[chosen] for one in fields(self)))

    @property
    def rate(self) -> float:
        """Bytes per second of transfer; 0 if there is none."""
        return float(self.bytes.sum()) * 1e9 / float(self.dur.sum()) if self.dur.size else 0.0


@signal()
def parts(s: Signals) -> Parts:
    """Single transfers of collectives over links."""
    rows = s.trace.columns(_SQL)
    if not rows["event"].size:
        raise MissingInputError.of("links")
    return Parts(*(rows[one.name] for one in fields(Parts)))


@signal()
def unaligned(s: Signals) -> Parts:
    """Transfers by the device's own copy engine of more than 512 bytes whose size is no multiple of 512."""
    every = s(parts)
    return every.where((every.transport == "SDMA") & (every.bytes > ALIGNMENT) & (every.bytes % ALIGNMENT != 0))


@signal()
def aligned(s: Signals) -> Parts:
    """Transfers of multiples of 512 bytes in the same collectives as the unaligned ones."""
    every = s(parts)
    same = np.isin(every.collective, s(unaligned).collective)
    return every.where(same & (every.transport == "SDMA") & (every.bytes % ALIGNMENT == 0))


@signal()
def beside_matmul(s: Signals) -> NDArray[np.bool_]:
    """For each transfer, whether a matrix multiplication ran during most of it."""
    every, rows = s(parts), s.trace.columns(_MATMUL_SQL)
    during = Intervals.union_of(rows["ts"], rows["stop"]).within(every.ts, every.ts + every.dur)
    most: NDArray[np.bool_] = 2 * during > every.dur
    return most
