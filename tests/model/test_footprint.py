"""What values hold, and what a trace lets go of."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from stepscope.model.process.footprint import footprint
from stepscope.model.trace import Trace
from support import Facts


@dataclass(frozen=True, slots=True)
class _Pair:
    left: object
    right: object


def test_arrays_count_wherever_they_are() -> None:
    array = np.zeros(1000, np.int64)
    assert footprint(array) == 8000
    assert footprint(pa.table({"a": array})) == 8000
    assert footprint(_Pair(array, {"a": [array, array]})) == 8000 + 64 + 2 * (64 + 8000)
    assert footprint([np.zeros(1, np.int64)] * 1000) == 1000 * (64 + 8)
    assert footprint(None) == 0


def test_a_trace_lets_go_of_what_is_large() -> None:
    made: list[str] = []

    def large(_: Trace) -> np.ndarray:
        made.append("large")
        return np.zeros(1000)

    def small(_: Trace) -> int:
        made.append("small")
        return 1

    f = Facts()
    f.host("op", "aten::add", 0, 1)
    trace = f.trace()
    for _ in range(2):
        trace.once(large)
        trace.once(small)
        trace.for_thread().forget(8000)
    assert made == ["large", "small", "large"]
