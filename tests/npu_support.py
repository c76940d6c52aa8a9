"""Kernels of Ascend devices, for tests of rules."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from stepscope.signals.ascend.npu_dispatch import HostCalls
from stepscope.signals.ascend.npu_kernels import NpuKernels


def npu_kernels(count: int, *, steps: int = 1, **columns: Any) -> NpuKernels:
    """So many kernels of 100 µs on AI cores; columns are given as one value or one per kernel."""
    values: dict[str, Any] = {
        "event": np.arange(count),
        "ts": np.arange(count) * 1_000_000,
        "dur": 100_000,
        "core": "AI_CORE",
        "op_type": "MatMulV2",
        "name": "aclnnMatmul_MatMulV2",
        "blocks": 24,
        "dtypes": "FLOAT16;FLOAT16",
        "state": "dynamic",
        **columns,
    }
    return NpuKernels(**{name: _full(value, count) for name, value in values.items()}, steps=steps)


def host_calls(count: int, dur: int, steps: int = 1) -> HostCalls:
    """So many calls of equal length."""
    return HostCalls(np.arange(count), np.full(count, dur), steps)


def _full(value: Any, count: int) -> np.ndarray[Any, Any]:
    if isinstance(value, np.ndarray) or (isinstance(value, Sequence) and not isinstance(value, str)):
        return np.array(value)
    return np.full(count, value)
