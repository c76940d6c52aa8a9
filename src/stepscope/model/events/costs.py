"""FLOPs, bytes and operand types of one rank's device activities as NumPy columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from stepscope.model.events.columns import Ids
from stepscope.model.events.device_work import by_event
from stepscope.model.trace import Trace

_SQL: Final = """
SELECT event, coalesce(flops, -1)::DOUBLE AS flops, coalesce(bytes, -1) AS bytes,
    coalesce(list_position($types, dtype), 0)::SMALLINT AS dtype,
    CASE tensor_core WHEN true THEN 1 WHEN false THEN 0 ELSE -1 END::TINYINT AS tensor_core
FROM kernels
"""


@dataclass(frozen=True, slots=True, eq=False)
class Costs:
    """Cost of each of the n activities of `DeviceWork`.

    Attributes:
        flops: float64[n]; -1 where unknown.
        bytes: int64[n], read and written; -1 where unknown.
        dtype: int16[n], position in `types`.
        types: As in `stepscope.model.dtypes`; the first is empty, for unknown.
        tensor_core: int8[n], 1 for kernels on tensor cores, 0 for others, -1 where unknown.
    """

    flops: NDArray[np.float64]
    bytes: Ids
    dtype: NDArray[np.int16]
    types: tuple[str, ...]
    tensor_core: NDArray[np.int8]

    @classmethod
    def of(cls, trace: Trace) -> Costs:
        """Read from the trace once and kept with `Trace.once`."""
        return trace.once(_costs)


def _costs(trace: Trace) -> Costs:
    known = [row["dtype"] for row in trace.rows("SELECT DISTINCT dtype FROM kernels WHERE dtype <> '' ORDER BY 1")]
    rows = by_event(trace, trace.columns(_SQL, {"types": known}))
    del rows["event"]
    return Costs(types=("", *known), **rows)
