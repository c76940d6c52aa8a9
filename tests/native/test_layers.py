"""Laying events out in layers, event by event."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from stepscope.native.layers import LAYERS, ROWS, layers

#: By event: how many of those that are open end before it, and its layer.
THREAD = st.lists(st.tuples(st.integers(0, 3), st.integers(-1, LAYERS - 1)), max_size=60)


def around(parents: list[int], event: int) -> list[int]:
    found = []
    while (event := parents[event]) >= 0:
        found.append(event)
    return found


def columns(
    parents: list[int], ids: list[int], layer: list[int]
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int8]]:
    of = [ids[parent] if parent >= 0 else -1 for parent in parents]
    return np.array(ids, np.int32), np.array(of, np.int32), np.array(layer, np.int8)


@given(THREAD, st.randoms(use_true_random=False))
def test_any_thread(drawn: list[tuple[int, int]], random: Random) -> None:
    parents, open_ = list[int](), list[int]()
    for event, (ended, _) in enumerate(drawn):
        del open_[max(len(open_) - ended, 0) :]
        parents.append(open_[-1] if open_ else -1)
        open_.append(event)
    ids, layer = list(range(7, 7 + 3 * len(drawn), 3)), [one[1] for one in drawn]
    random.shuffle(ids)

    rows = dict[tuple[int, int], list[int]]()
    for event, mine in enumerate(layer):
        if mine >= 0:
            row = sum(layer[outer] == mine for outer in around(parents, event))
            rows.setdefault((mine, row), []).append(event)
    found = layers(*columns(parents, ids, layer))
    assert found is not None
    order, numbers = found
    assert order.tolist() == [event for row in sorted(rows) for event in rows[row]]
    assert numbers.shape == (LAYERS, ROWS)
    assert {(int(a), int(b)): int(numbers[a, b]) for a, b in np.argwhere(numbers)} == {
        row: len(its) for row, its in rows.items()
    }


def test_what_is_deeper_than_there_are_rows_shares_the_last() -> None:
    deep = ROWS + 3
    found = layers(*columns([*range(-1, deep - 1)], [*range(deep)], [1] * deep))
    assert found is not None
    assert found[0].tolist() == [*range(deep)]
    assert found[1][1].tolist() == [1] * (ROWS - 1) + [4]
    assert found[1].sum() == deep


@pytest.mark.parametrize(
    "parents",
    [
        [-1, -1, 0],  # 1 has ended what 0 had around
        [1, -1],  # it comes later
        [0],  # itself
        [-1, 9],  # not there
    ],
)
def test_a_parent_that_is_not_around_what_comes_before_is_not_found(parents: list[int]) -> None:
    number = len(parents)
    ids = np.arange(number, dtype=np.int32)
    assert layers(ids, np.array(parents, np.int32), np.zeros(number, np.int8)) is None
    assert ids.tolist() == [*range(number)]
