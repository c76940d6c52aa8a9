"""Counting what is around the events of a tree, parent by parent."""

from __future__ import annotations

from random import Random

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from stepscope.native.around import around
from stepscope.web.tiles.lanes import nested_lanes

#: By event: how far before it its parent is, 0 for none, and whether it counts.
TREES = st.lists(st.tuples(st.integers(0, 9), st.booleans()), max_size=40)


def tree(drawn: list[tuple[int, bool]]) -> tuple[list[int], list[bool], list[int]]:
    """Parents, members and the number of members around each event."""
    parents, members = (
        [i - back if 0 < back <= i else -1 for i, (back, _) in enumerate(drawn)],
        [one[1] for one in drawn],
    )
    numbers = list[int]()
    for parent in parents:
        numbers.append(numbers[parent] + members[parent] if parent >= 0 else 0)
    return parents, members, numbers


@given(TREES, st.integers(0, 6))
def test_any_tree(drawn: list[tuple[int, bool]], most: int) -> None:
    parents, members, numbers = tree(drawn)
    found = around(np.array(parents, np.int32), np.array(members, np.bool_), most)
    assert found.tolist() == [min(number, most) for number in numbers]


@given(TREES, st.randoms(use_true_random=False))
def test_lanes_whatever_the_order(drawn: list[tuple[int, bool]], random: Random) -> None:
    parents, members, numbers = tree(drawn)
    depth = list[int]()
    for parent in parents:
        depth.append(depth[parent] + 1 if parent >= 0 else 0)
    order = list(range(len(drawn)))
    random.shuffle(order)
    place = {old: new for new, old in enumerate(order)} | {-1: -1}
    found = nested_lanes(
        np.array([place[parents[old]] for old in order], np.int32),
        np.array([depth[old] for old in order], np.int16),
        np.array([members[old] for old in order], np.bool_),
    )
    assert found.tolist() == [numbers[old] for old in order]
