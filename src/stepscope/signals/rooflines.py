"""Operators that stay far below what the device allows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from stepscope.signals.job import device, recorded_ns
from stepscope.signals.products import dimensions
from stepscope.signals.signal import Signals, signal
from stepscope.signals.work import Ids

#: Time of a call from which launches and floors do not explain a low efficiency.
_LONG_NS: Final = 50_000
_HALF: Final = 0.5
#: Blocks of good products make so many rows and columns of the result; one with fewer blocks than the device has
#: multiprocessors can't reach its peak.
_TILE: Final = 128
#: Lookups are scattered and updates of parameters many small pieces: their bytes say little about their least time.
_UNTOLD: Final = ("embedding", "optimizer", "copy")
_EVENTS_SQL: Final = """
SELECT k.event, k.dur, w.done FROM kernels k JOIN spans s ON s.id = k.op JOIN names n USING (name_id)
JOIN op_inputs i ON i.event = k.op
JOIN (SELECT unnest($names) AS name, unnest($shapes) AS shapes, unnest($done) AS done) w
    ON w.name = n.name AND w.shapes = i.shapes
WHERE k.kind IN ('compute', 'copy', 'set') ORDER BY k.event
"""


@dataclass(frozen=True, slots=True, eq=False)
class Slow:
    """n kernels of operators with low efficiency.

    Attributes:
        event: int64[n].
        dur: int64[n].
        efficiency: float64[n], of the operator with these shapes.
        rows: Rows of the table `roofline_shapes`, the one with the most time first.
        of_step: Their time as a share of the recorded steps.
    """

    event: Ids
    dur: Ids
    efficiency: NDArray[np.float64]
    rows: tuple[dict[str, Any], ...]
    of_step: float


@signal()
def slow(s: Signals) -> Slow:
    """Operators of 50 µs and more that stay below half of what the device's roofline allows."""
    known = s.maybe(device)
    units = (known.units if known is not None else None) or 0
    rows = [row for row in s.table("roofline_shapes").arrow.to_pylist() if _is_slow(row, units)]
    rows.sort(key=lambda row: (-row["total_ns"], row["name"], row["shapes"]))
    if not rows:
        nothing = np.zeros(0, np.int64)
        return Slow(nothing, nothing, np.zeros(0), (), 0.0)
    wanted = {
        "names": [row["name"] for row in rows],
        "shapes": [row["shapes"] for row in rows],
        "done": [row["efficiency"] for row in rows],
    }
    found = s.trace.columns(_EVENTS_SQL, wanted)
    share = float(found["dur"].sum()) / s(recorded_ns)
    return Slow(found["event"], found["dur"], found["done"], tuple(rows), share)


def _is_slow(row: dict[str, Any], units: int) -> bool:
    told = row["efficiency"] is not None and row["shapes"] is not None and row["op_class"] not in _UNTOLD
    if not told or row["efficiency"] >= _HALF or row["mean_ns"] < _LONG_NS:
        return False
    dims = dimensions(row["shapes"]) if row["op_class"] == "gemm" else None
    return dims is None or dims.batch * -(-dims.m // _TILE) * -(-dims.n // _TILE) >= units
