"""Copies and memsets of one rank as NumPy columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from stepscope.model.coding import known_code
from stepscope.model.events.columns import Ids, Rows
from stepscope.model.events.device_work import DeviceWork
from stepscope.model.events.lookup import match
from stepscope.model.trace import Trace

#: Directions of copies and kinds of memory, as positions in `Copies`; the last stands for any other.
DIRECTIONS: Final = ("HtoD", "DtoH", "DtoD", "")
MEMORIES: Final = ("pageable", "pinned", "device", "managed", "")
_COPIES_SQL: Final = f"""
SELECT event, {known_code("direction", DIRECTIONS)} AS direction, coalesce(bytes, -1) AS bytes,
    {known_code("src_kind", MEMORIES)} AS src, {known_code("dst_kind", MEMORIES)} AS dst
FROM copies
"""


@dataclass(frozen=True, slots=True, eq=False)
class Copies:
    """The n rows of `copies` of a trace of one rank.

    Attributes:
        at: int64[n], position of the activity in `DeviceWork`.
        direction: int8[n], position in `DIRECTIONS`.
        bytes: int64[n]; -1 if not recorded.
        src: int8[n], position in `MEMORIES`.
        dst: int8[n], likewise.
    """

    at: Ids
    direction: NDArray[np.int8]
    bytes: Ids
    src: NDArray[np.int8]
    dst: NDArray[np.int8]

    @classmethod
    def of(cls, trace: Trace) -> Copies:
        """Those of a trace, read once."""
        return trace.once(_copies)

    def rows(self, at: NDArray[np.int64]) -> Rows:
        """Row of each activity in these copies; -1 for activities that are no copies."""
        row_of = np.full(max(int(self.at.max(initial=-1)), int(at.max(initial=-1))) + 2, -1, np.int32)
        row_of[self.at] = np.arange(self.at.size, dtype=np.int32)
        return row_of[at]

    @property
    def pageable(self) -> NDArray[np.bool_]:
        """Whether one end is pageable memory, bool[n]."""
        code = MEMORIES.index("pageable")
        either: NDArray[np.bool_] = (self.src == code) | (self.dst == code)
        return either

    @property
    def managed(self) -> NDArray[np.bool_]:
        """Whether both ends are managed memory: pages that migrate, bool[n]."""
        code = MEMORIES.index("managed")
        both: NDArray[np.bool_] = (self.src == code) & (self.dst == code)
        return both

    @property
    def untold(self) -> NDArray[np.bool_]:
        """Whether it is between host and device, and the kind of the host's memory is not recorded, bool[n]."""
        unknown = MEMORIES.index("")
        to_device = (self.direction == DIRECTIONS.index("HtoD")) & (self.src == unknown)
        untold: NDArray[np.bool_] = to_device | ((self.direction == DIRECTIONS.index("DtoH")) & (self.dst == unknown))
        return untold


def _copies(trace: Trace) -> Copies:
    rows, work = trace.columns(_COPIES_SQL), DeviceWork.of(trace)
    # A damaged store may have copies without their activity.
    known = match(work.event, rows["event"]) >= 0
    rows = {name: column[known] for name, column in rows.items()}
    at = work.rows(trace, rows.pop("event")) if known.any() else rows.pop("event").astype(np.int64)
    return Copies(at=at, **rows)
