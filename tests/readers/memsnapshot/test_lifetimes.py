"""Pairing of allocations and frees, against a walk with a dictionary."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from stepscope.readers.memsnapshot.lifetimes import (
    ALLOC,
    BEFORE,
    FREE_COMPLETED,
    FREE_REQUESTED,
    NEVER,
    OTHER,
    lifetimes,
    running,
)

_STEPS = st.lists(st.tuples(st.sampled_from((ALLOC, FREE_REQUESTED, FREE_COMPLETED, OTHER)), st.integers(0, 4)))


def _walk(steps: list[tuple[int, int]]) -> list[tuple[int, int, int, int]]:
    """(made, freed, reusable, address) of every allocation, by its first row."""
    found: list[list[int]] = []
    current: dict[int, list[int]] = {}
    for row, (action, address) in enumerate(steps):
        life = current.get(address)
        if action == ALLOC:
            if life is not None and life[2] < 0:
                life[1] = row if life[1] < 0 else life[1]
                life[2] = row
            current[address] = [row, NEVER, NEVER, address]
            found.append(current[address])
        elif action == FREE_REQUESTED:
            if life is None or life[1] >= 0 or life[2] >= 0:
                life = current[address] = [BEFORE, NEVER, NEVER, address]
                found.append(life)
            life[1] = row
        elif action == FREE_COMPLETED:
            if life is None or life[2] >= 0:
                life = current[address] = [BEFORE, BEFORE, NEVER, address]
                found.append(life)
            life[1] = row if life[1] == NEVER else life[1]
            life[2] = row
    return [tuple(life) for life in found]  # type: ignore[misc]


@given(_STEPS)
def test_lifetimes_are_those_of_a_walk(steps: list[tuple[int, int]]) -> None:
    action = np.array([step[0] for step in steps], np.int64)
    address = np.array([step[1] for step in steps], np.int64)
    life = lifetimes(action, address)
    got = zip(life.made.tolist(), life.freed.tolist(), life.reusable.tolist(), life.address.tolist(), strict=True)
    expected = _walk(steps)
    assert sorted(got) == sorted(expected)
    firsts = life.first.tolist()
    assert firsts == sorted(firsts)


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(-1, 9), st.integers(-1, 9))))
def test_a_running_total_counts_from_start_to_end(spans: list[tuple[int, int, int]]) -> None:
    amount, start, end = (np.array([span[i] for span in spans], np.int64) for i in range(3))
    base = int(amount[start < 0].sum())
    level = running(10, base, amount, start, amount, end)
    for row in range(10):
        assert level[row] == sum(a * ((b <= row) - (0 <= e <= row)) for a, b, e in spans)
