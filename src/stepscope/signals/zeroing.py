"""Gradients that the optimizer's zero_grad fills with zeros."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from stepscope.model.errors import MissingInputError
from stepscope.signals.ranges import inside
from stepscope.signals.signal import Signals, signal

_RANGES_SQL: Final = """
SELECT s.track, s.ts, s.ts + coalesce(s.dur, 0) AS stop, n.name FROM spans s JOIN names n USING (name_id)
WHERE n.name LIKE 'Optimizer.zero_grad%' AND s.step IS NOT NULL ORDER BY s.track, s.ts
"""
_ZEROES_SQL: Final = """
SELECT s.id, s.track, s.ts, s.ts + coalesce(s.dur, 0) AS stop FROM spans s WHERE s.category = 'op' AND s.name_id IN (
    SELECT name_id FROM names WHERE name IN ('aten::zero_', 'aten::_foreach_zero_')) ORDER BY s.track, s.ts
"""
_KERNELS_SQL: Final = """
SELECT k.event, l.track, l.ts FROM kernels k JOIN spans l ON l.id = k.launch
WHERE l.track IN (SELECT unnest($tracks)) AND l.ts >= $lo AND l.ts < $hi
"""


@dataclass(frozen=True, slots=True)
class Zeroed:
    """What zero_grad does.

    Attributes:
        operators: int64[n], operators that zero gradients.
        kernels: int64[k], device activities that they launch.
        steps: Steps with a zero_grad.
        name: Of the range.
    """

    operators: NDArray[np.int64]
    kernels: NDArray[np.int64]
    steps: int
    name: str


@signal()
def zeroed(s: Signals) -> Zeroed:
    """Operators inside the optimizer's zero_grad that zero gradients, and what they launch."""
    ranges = s.trace.columns(_RANGES_SQL)
    if not ranges["ts"].size:
        raise MissingInputError(
            "the recording has no optimizer's zero_grad", hint="record whole training steps with PyTorch's profiler"
        )
    found = s.trace.columns(_ZEROES_SQL)
    chosen = inside(found, ranges)
    operators = {name: values[chosen] for name, values in found.items()}
    name = str(ranges["name"][0])
    if not operators["id"].size:
        return Zeroed(operators["id"], operators["id"], ranges["ts"].size, name)
    launched = s.trace.columns(
        _KERNELS_SQL,
        {
            "tracks": np.unique(operators["track"]).tolist(),
            "lo": int(operators["ts"].min()),
            "hi": int(operators["stop"].max()),
        },
    )
    kernels = launched["event"][inside(launched, operators)]
    return Zeroed(operators["id"], np.sort(kernels), ranges["ts"].size, name)
