"""Collectives for tests of rules about communication."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from stepscope.signals.communication.communication import CollectiveCalls

MIB = 1 << 20


def some_calls(count: int, *, steps: int = 1, **columns: Any) -> CollectiveCalls:
    """So many all-reduces of 8 ranks, evenly over the steps; columns are given as one value or one per call."""
    values: dict[str, Any] = {
        "event": np.arange(count),
        "ts": np.arange(count) * 1_000_000,
        "dur": 1_000,
        "exposed": 1_000,
        "transfer": 1_000,
        "told": True,
        "long": False,
        "step": np.arange(count) * steps // max(count, 1),
        "bytes": 25 * MIB,
        "world": 8,
        "name": "all_reduce",
        "group": "0",
        **columns,
    }
    return CollectiveCalls(**{name: _full(value, count) for name, value in values.items()}, steps=steps)


def _full(value: Any, count: int) -> np.ndarray[Any, Any]:
    if isinstance(value, np.ndarray) or (isinstance(value, Sequence) and not isinstance(value, str)):
        return np.array(value)
    return np.full(count, value)
