"""The replay of a graph agrees with going from node to node and edge to edge over Python's integers."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from stepscope.native.replaying import Arrivals, replay

#: Of a lag and of what it is measured against, as far as all that is computed of them has a place in 64 bits.
TIMES = st.integers(0, 50) | st.integers(0, 2**44)
#: By node: its edges (how many nodes before, and time), how long it takes, and whether others come to it: how many of
#: its edges are its own, by how much they are late, the node at which all were together and the time since then.
NODES = st.lists(
    st.tuples(
        st.lists(st.tuples(st.integers(1, 30), st.integers(-5, 20) | TIMES), max_size=4),
        TIMES,
        st.none() | st.tuples(st.integers(1, 4), TIMES, st.integers(1, 30), TIMES),
    ),
    max_size=30,
)


def times(values: list[int]) -> NDArray[np.int64]:
    return np.array(values, np.int64)


@given(NODES, st.sampled_from([1, 4]))
def test_any_graph(drawn: list[tuple[list[tuple[int, int]], int, tuple[int, int, int, int] | None]], most: int) -> None:
    ends, first, on, lag = [7], [0, 0], list[int](), list[int]()
    node, part, edge, late, together, apart = list[int](), [0], list[int](), list[int](), list[int](), list[int]()
    for i, (edges, took, others) in enumerate(drawn, start=1):
        comes = [(max(i - back, 0), wait) for back, wait in edges]
        admitted = [ends[before] + wait for before, wait in comes]
        if others and comes:
            own, lateness, back, since = others
            before = max(i - back, 0)
            ready = max(admitted[:own])
            grown = min(lateness * max(ready - ends[before], 0) // since, most * lateness) if since else lateness
            admitted.append(ready + grown)
            node.append(i)
            edge += range(len(on), len(on) + len(comes[:own]))
            part.append(len(edge))
            late.append(lateness)
            together.append(before)
            apart.append(since)
        on += [before for before, _ in comes]
        lag += [wait for _, wait in comes]
        first.append(len(on))
        ends.append(max(admitted) + took if comes else 7)
    took_ = [0, *(took for _, took, _ in drawn)]
    arrivals = Arrivals(most, *map(times, (node, part, edge, late, together, apart)))
    assert replay(7, times(first), times(on), times(lag), times(took_), arrivals).tolist() == ends


def test_numbers_that_64_bits_do_not_hold_when_multiplied() -> None:
    first, on, lag = np.array([0, 0, 1]), np.array([0]), np.array([2**61 - 1])
    for apart, expected in ((2**61, 2**40 - 1), (2**61 - 1, 2**40), (2**59, 4 * (2**40 - 1) + 3)):
        arrivals = Arrivals(4, *map(times, ([1], [0, 1], [0], [2**40], [0], [apart])))
        end = replay(0, first, on, lag, np.zeros(2, np.int64), arrivals)
        assert end.tolist() == [0, 2**61 - 1 + expected]
