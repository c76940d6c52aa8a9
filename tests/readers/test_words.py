"""Words are the bytes at their places, whatever lies where in memory."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepscope.readers.kineto.words import WORD, words_at


@given(st.binary(max_size=60), st.integers(0, WORD - 1))
def test_words_at_every_place(text: bytes, offset: int) -> None:
    raw = np.frombuffer(bytes(offset) + text, np.uint8)[offset:]
    expected = [int.from_bytes(text[at : at + WORD], "little") for at in range(len(text))]
    assert words_at(raw, np.arange(len(text))).tolist() == expected


@pytest.mark.parametrize("kind", [np.int32, np.int64])
def test_places_in_any_order_and_none(kind: type) -> None:
    raw = np.arange(64, dtype=np.uint8)
    assert (words_at(raw, np.array([60, 3, 3], kind)) & np.uint64(255)).tolist() == [60, 3, 3]
    assert words_at(raw, np.zeros(0, kind)).tolist() == []
