"""Dividing time among layers, instant by instant."""

from __future__ import annotations

from itertools import groupby

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from stepscope.model.intervals import Intervals
from stepscope.model.partition import partition
from stepscope.model.sizes import SIZES
from stepscope.native.dividing import divide

LAYERS = st.lists(st.sets(st.integers(0, 30)), max_size=5)


def covering(instants: set[int]) -> Intervals:
    return Intervals.union_of(sorted(instants), [one + 1 for one in sorted(instants)])


def slow(layers: list[set[int]], lo: int, hi: int) -> list[tuple[int, int]]:
    """Start and layer of each part."""
    first = [next((i for i, layer in enumerate(layers) if at in layer), len(layers)) for at in range(lo, hi)]
    return [(lo + next(iter(run))[0], layer) for layer, run in groupby(enumerate(first), key=lambda one: one[1])]


@given(
    st.lists(st.tuples(*[st.sets(st.integers(0, 30))] * 3), min_size=1, max_size=4),
    st.integers(-5, 35),
    st.integers(-5, 35),
)
def test_each_instant_goes_to_the_first_layer_that_covers_it(
    lanes: list[tuple[set[int], ...]], lo: int, hi: int
) -> None:
    sets = [covering(layer) for layers in lanes for layer in layers]
    first = np.cumsum([0, *map(len, sets)], dtype=np.int32)
    starts, ends = (np.concatenate([getattr(one, name) for one in sets]) for name in ("starts", "ends"))
    behind, heads, labels = divide(len(lanes), first, starts, ends, lo, hi)
    expected = [slow([*layers], lo, hi) for layers in lanes]
    assert list(zip(heads.tolist(), labels.tolist(), strict=True)) == [part for parts in expected for part in parts]
    assert behind.tolist() == np.cumsum([len(parts) for parts in expected]).tolist()


@given(LAYERS, st.integers(1, 6))
def test_in_parts_as_at_once(layers: list[set[int]], most: int) -> None:
    sets = [covering(layer) for layer in layers]
    with SIZES.changed(divided_intervals=most):
        starts, ends, labels = partition(sets, 0, 31)
    assert list(zip(starts.tolist(), labels.tolist(), strict=True)) == slow(layers, 0, 31)
    assert ends.tolist() == [*starts.tolist()[1:], 31]


def test_all_of_time() -> None:
    first, last = np.iinfo(np.int64).min, np.iinfo(np.int64).max
    _, starts, labels = divide(1, np.array([0, 2], np.int32), np.array([first, 5]), np.array([0, last]), first, last)
    assert (starts.tolist(), labels.tolist()) == ([first, 0, 5], [0, 1, 0])


def test_without_time_or_layers() -> None:
    assert [one.tolist() for one in partition([], 3, 9)] == [[3], [9], [0]]
    assert [one.tolist() for one in partition([], 9, 3)] == [[], [], []]
