"""Kernels with counters, for tests of rules."""

from __future__ import annotations

import numpy as np

from stepscope.signals.ascend import ascend
from stepscope.signals.kernels import inspected
from stepscope.signals.kernels.inspected import Inspected


def given(
    share: float = 0.3, *, npu: bool = False, op_class: str = "gemm", intensity: float | None = 200.0, **values: float
) -> dict[object, object]:
    tool = "counters" if npu else "ncu"
    one = Inspected("kernel", tool, op_class, np.array([7, 8]), 1_000_000, share, intensity, values)
    return {inspected.inspected: (one,), ascend.recorded: npu}
