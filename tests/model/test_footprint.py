"""What values hold, and what a trace lets go of."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

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


def test_a_trace_keeps_some_bytes_of_what_was_used_last() -> None:
    made: list[str] = []

    class Column:
        def __init__(self, name: str) -> None:
            self.name = name

        def __call__(self, _: Trace) -> np.ndarray:
            made.append(self.name)
            return np.zeros(1000)

    columns = [Column(name) for name in ("first", "second", "third")]
    trace = Facts().trace()
    for column in (*columns, columns[0]):
        trace.once(column)
    trace.forget(8000, 16_000)
    for column in columns:
        trace.once(column)
    assert made == ["first", "second", "third", "second"]


def test_what_a_value_has_computed_of_itself_counts() -> None:
    @dataclass(frozen=True)
    class Value:
        given: np.ndarray

        @cached_property
        def doubled(self) -> np.ndarray:
            return 2 * self.given

    value = Value(np.zeros(100))
    assert footprint(value) == 800
    assert value.doubled.size == 100
    assert footprint(value) == 1600


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
