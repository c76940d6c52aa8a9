"""How much memory was in use after each allocation and free, per device."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from stepscope.model.errors import MissingInputError
from stepscope.model.intervals import Times
from stepscope.model.schema import Column
from stepscope.model.trace import Trace

DEVICE: Final = Column("device", "int32", "Device index; null for host memory.", "", True)

#: In the order of the store, which is that of time; rows of the same time stay in the order of the recording.
_SQL: Final = """
SELECT ts, coalesce(address, -1) AS address, coalesce(bytes, 0) AS bytes,
    coalesce(allocated, -1) AS allocated, coalesce(reserved, -1) AS reserved, coalesce(owner, -1) AS owner
FROM memory WHERE coalesce(device, -1) = $device
"""
_DEVICES_SQL: Final = "SELECT DISTINCT coalesce(device, -1)::INTEGER AS device FROM memory"


@dataclass(frozen=True, slots=True)
class MemoryLevels:
    """The n allocations, frees and totals of one device, in time order.

    Attributes:
        device: Index; None for host memory.
        ts: int64[n].
        address: int64[n], -1 if not recorded.
        bytes: int64[n], negative for a free, 0 for a total.
        owner: int64[n], event that made it, -1 if unknown.
        allocated: int64[n], bytes in use after it.
        reserved: int64[n], bytes held by the allocator after it, -1 if never recorded.
        rebuilt: Whether `allocated` is the sum of what was recorded, since no totals were: what had been allocated
            before is missing.
    """

    device: int | None
    ts: Times
    address: NDArray[np.int64]
    bytes: NDArray[np.int64]
    owner: NDArray[np.int64]
    allocated: NDArray[np.int64]
    reserved: NDArray[np.int64]
    rebuilt: bool

    def live(self, when: int) -> NDArray[np.int64] | None:
        """Positions of the allocations that are live after row `when`; None if addresses were not recorded."""
        known = np.flatnonzero((self.address != -1) & (self.bytes != 0))
        if not known.size:
            return None
        past = known[known <= when]
        order = past[np.argsort(self.address[past], kind="stable")]
        # Of each address, the last thing that happened to it.
        last = np.append(np.diff(self.address[order]) != 0, [True]) if order.size else np.zeros(0, np.bool_)
        newest = order[last]
        return np.sort(newest[self.bytes[newest] > 0])


def memory_levels(trace: Trace) -> list[MemoryLevels]:
    """The levels of each device, host memory last, which are shared and must not be changed.

    Raises:
        MissingInputError: The recording has no allocations.
    """
    return trace.once(_levels)


def _levels(trace: Trace) -> list[MemoryLevels]:
    devices = trace.columns(_DEVICES_SQL)["device"].tolist()
    if not devices:
        raise MissingInputError.of("allocations")
    found = []
    for index in sorted(devices, key=lambda device: (device < 0, device)):
        mine = trace.columns(_SQL, {"device": index})
        rebuilt = not (mine["allocated"] >= 0).any()
        found.append(
            MemoryLevels(
                device=index if index >= 0 else None,
                ts=mine["ts"],
                address=mine["address"],
                bytes=mine["bytes"],
                owner=mine["owner"],
                allocated=_summed(mine["bytes"]) if rebuilt else _filled(mine["allocated"]),
                reserved=_filled(mine["reserved"]),
                rebuilt=rebuilt,
            )
        )
    return found


def _summed(sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Running sum, from a level at which it never becomes negative."""
    level: NDArray[np.int64] = np.cumsum(sizes)
    return level - min(int(level.min()), 0)


def _filled(level: NDArray[np.int64]) -> NDArray[np.int64]:
    """Totals with unknown ones replaced by the last known one, or the first; -1 if none is known."""
    known = np.flatnonzero(level >= 0)
    if not known.size:
        return level
    last = np.full(level.size, known[0])
    last[known] = known
    np.maximum.accumulate(last, out=last)
    filled: NDArray[np.int64] = level[last]
    return filled
