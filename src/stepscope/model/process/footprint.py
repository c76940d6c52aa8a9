"""Estimate the memory that values hold, and return free memory to the system."""

from __future__ import annotations

import gc
from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass

import numpy as np
import pyarrow as pa

from stepscope.model.process.system import library_function
from stepscope.model.table import Table


def footprint(value: object) -> int:
    """Bytes held by a value: exact for arrays and tables, estimated for lists."""
    if isinstance(value, (np.ndarray, pa.Table)):
        return int(value.nbytes)
    if isinstance(value, Table):
        return int(value.arrow.nbytes)
    if isinstance(value, Mapping):
        return _all(value.values(), len(value))
    if isinstance(value, (list, tuple, set, frozenset)):
        return _all(value, len(value))
    if is_dataclass(value):
        # What it has computed of itself counts, too.
        held = getattr(value, "__dict__", None)
        return sum(map(footprint, held.values() if held else (getattr(value, one.name) for one in fields(value))))
    return 0


def _all(values: Iterable[object], number: int) -> int:
    """Bytes held by `number` values beside 64 each; extrapolated from the first ones of many."""
    some = [value for value, _ in zip(values, range(100), strict=False)]
    return 64 * number + (sum(map(footprint, some)) * number // len(some) if some else 0)


def give_back_rank() -> None:
    """Free the rank just finished before the next of several, including cycles among values kept of its trace.

    Most of a rank's memory lies outside what Python counts, so Python would collect such cycles only after many ranks.
    """
    gc.collect()


def give_back() -> None:
    """Collect cycles and return free memory to the system, where the C library supports it."""
    gc.collect(1)  # young generations only: a full collection takes tens of milliseconds
    pa.default_memory_pool().release_unused()
    if (trim := library_function("malloc_trim")) is not None:
        trim(0)
