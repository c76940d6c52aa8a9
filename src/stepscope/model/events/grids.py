"""Launch grids of one rank's device activities as NumPy columns."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Final

import numpy as np
from numpy.typing import NDArray

from stepscope.model.events.device_work import by_event
from stepscope.model.trace import Trace

_GRIDS_SQL: Final = """
SELECT event, coalesce(grid[1]::DOUBLE * grid[2] * grid[3], 0)::DOUBLE AS blocks,
    coalesce(grid[1]::DOUBLE * grid[2] * grid[3] * block[1] * block[2] * block[3], 0)::DOUBLE AS threads,
    coalesce(grid[3], 0)::INTEGER AS depth, hash(grid) AS grid
FROM kernels
"""


@dataclass(frozen=True, slots=True, eq=False)
class Grids:
    """Launch grids of the n activities of `DeviceWork`.

    Attributes:
        blocks: float64[n]; 0 if not recorded.
        threads: float64[n], of all blocks; 0 if not recorded.
        depth: int32[n], blocks in z; 0 if not recorded.
        grid: uint64[n], hash of the grid: equal for equal grids.
    """

    blocks: NDArray[np.float64]
    threads: NDArray[np.float64]
    depth: NDArray[np.int32]
    grid: NDArray[np.uint64]

    @classmethod
    def of(cls, trace: Trace) -> Grids:
        """Those of a trace, read once."""
        return trace.once(_grids)


def _grids(trace: Trace) -> Grids:
    rows = by_event(trace, trace.columns(_GRIDS_SQL))
    return Grids(**{one.name: rows[one.name] for one in fields(Grids)})
