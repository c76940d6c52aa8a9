"""Where values come first."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from stepscope.model.intervals import ascending


def firsts(values: NDArray[Any]) -> NDArray[np.int64]:
    """Positions of the first of each value, by value; fast where the range of values is small or they are sorted."""
    order = ascending(values)
    sorted_ = values[order]
    found: NDArray[np.int64] = order[np.append(True, sorted_[1:] != sorted_[:-1])[: values.size]]
    return found
