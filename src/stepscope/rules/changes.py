"""Changes that treat each event differently, in the few parts that a graph can be asked about quickly."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stepscope.analyses.stepgraph import Scaled


def scaled_each(events: NDArray[np.int64], factors: NDArray[np.float64]) -> tuple[Scaled, ...]:
    """Scale each of n events by its own factor, rounded to hundredths; those that stay as they are are left out."""
    rounded = np.rint(np.clip(factors, 0.0, None) * 100).astype(np.int64)
    return tuple(Scaled(events[rounded == step], step / 100) for step in np.unique(rounded).tolist() if step != 100)
