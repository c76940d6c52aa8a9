import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from stepscope.readers.kineto.interned import Interned

_KEYS = st.lists(st.lists(st.integers(0, 6) | st.integers(2**64 - 3, 2**64 - 1)))


def test_nothing_is_known_at_first() -> None:
    keys = np.array([7, 7, 5], np.uint64)
    assert Interned().find(keys).tolist() == [-1, -1, -1]
    numbers, new = Interned().find_with_new(keys)
    assert (numbers.tolist(), new.tolist()) == ([-1, -1, -1], [0, 2])


@given(_KEYS)
def test_keys_are_numbered_as_they_are_met(chunks: list[list[int]]) -> None:
    interned = Interned()
    numbers: dict[int, int] = {}
    for chunk in chunks:
        keys = np.array(chunk, np.uint64)
        known, first = interned.find_with_new(keys)
        assert known.tolist() == [numbers.get(key, -1) for key in chunk]
        new = [key for key in dict.fromkeys(chunk) if key not in numbers]
        assert keys[first].tolist() == new
        interned.add(keys[first])
        numbers.update({key: len(numbers) + place for place, key in enumerate(new)})
        assert interned.find(keys).tolist() == [numbers[key] for key in chunk]
    assert len(interned) == len(numbers)
