import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from stepscope.readers.kineto.slices import Slices, string_slices


def slices(*texts: str | None) -> Slices:
    """Texts with something before each, every other one in a second buffer."""
    buffers = [bytearray(), bytearray()]
    rows = []
    for number, text in enumerate(texts):
        buffer = buffers[number % 2]
        buffer += b"."
        rows.append((number % 2, len(buffer), -1 if text is None else len(text.encode())))
        buffer += (text or "").encode()
    numbers = np.array(rows, np.int32).reshape(-1, 3).T
    return Slices(tuple(map(bytes, buffers)), *numbers)


@given(st.lists(st.none() | st.text(max_size=20)))
def test_texts_of_any_length_are_shown_where_they_lie(texts: list[str | None]) -> None:
    array = slices(*texts).array
    array.validate(full=True)
    assert array.to_pylist() == texts


def test_rows_are_taken_by_position_and_by_mask() -> None:
    rows = slices("a", "a text beyond twelve bytes", None, "b")
    assert rows.take(np.array([3, 0])).array.to_pylist() == ["b", "a"]
    assert rows.take(np.array([False, True, True, False])).array.to_pylist() == ["a text beyond twelve bytes", None]


def test_other_texts_stand_in_only_where_there_is_none() -> None:
    rows = slices("kept", None, None).or_else(string_slices(pa.array(["unused", "a text from elsewhere", None])))
    assert rows.array.to_pylist() == ["kept", "a text from elsewhere", None]


@given(st.lists(st.none() | st.text(max_size=20)), st.integers(0, 3))
def test_arrow_strings_are_slices_of_their_own_memory(texts: list[str | None], start: int) -> None:
    strings = pa.array(texts, pa.string()).slice(start)
    assert string_slices(strings).array.to_pylist() == texts[start:]
