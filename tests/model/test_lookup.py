"""Looking values up by number and by order, against a dictionary."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from stepscope.model.events.lookup import match

#: Close together and far apart: up to the ends of 64 bits, where differences wrap around.
NUMBERS = st.one_of(st.integers(-3, 40), st.integers(-(2**63), 2**63 - 1), st.sampled_from([-(2**63), 2**63 - 1, 0]))
VALUES = st.lists(NUMBERS, max_size=12)


@given(VALUES, VALUES, st.booleans())
def test_match(keys: list[int], wanted: list[int], among: bool) -> None:
    wanted = wanted + keys[::2] if among else wanted
    first = {key: position for position, key in reversed(list(enumerate(keys)))}
    found = match(np.array(keys, np.int64), np.array(wanted, np.int64))
    assert found.dtype == np.int64
    assert found.tolist() == [first.get(value, -1) for value in wanted]


@given(st.lists(st.integers(0, 50), max_size=12), VALUES)
def test_keys_may_be_narrower(keys: list[int], wanted: list[int]) -> None:
    found = match(np.array(keys, np.int32), np.array(wanted, np.int64))
    assert found.tolist() == [keys.index(value) if value in keys else -1 for value in wanted]
