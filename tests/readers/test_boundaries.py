"""Boundaries are the same whether they are looked for step by step or compared with those that are known."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepscope.readers.kineto.boundaries import Boundaries

_SEPARATORS = (
    ",", ",\n  ", "\n", "", ",\r\n    ", ", ,", ",\n" + " " * 20, " " * 70 + ",", "," * 80, " " * 99,
    "," + " " * 63, "," + " " * 64, "\n," + " " * 64,
)  # fmt: skip


def expected(text: str) -> tuple[list[int], list[int], str]:
    """Positions of the braces after a boundary, of those before, and the text with the commas blanked."""
    found = list(re.finditer(r"\}([, \t\r\n]*)(?=\{)", text))
    blanked = re.sub(r"\}([ \t\r\n]*),([, \t\r\n]*)(?=\{)", "}\\1\t\\2", text)
    # Of much that stands there the first comma alone is left; the last 64 bytes were looked at before that was known.
    blanked = re.sub(r"\}([, \t\r\n]{65,})(?=\{)", lambda much: "}" + _few(much[1]), blanked)
    return [match.end() for match in found], [match.start() for match in found], blanked


def _few(between: str) -> str:
    front = between[:-64]
    return re.sub(r"[^\t]", " ", front) + between[-64:]


def found(boundaries: Boundaries, text: str) -> tuple[list[int], list[int], str]:
    raw = np.frombuffer(bytearray(text.encode()), np.uint8)
    braces = np.flatnonzero(raw == ord("{"))
    braces = braces[braces > 0]
    ordinal, close = boundaries.find(raw, braces)
    return braces[ordinal].tolist(), close.tolist(), raw.tobytes().decode()


@given(st.lists(st.lists(st.sampled_from([*_SEPARATORS, ":", '"}', "a"]), max_size=12), min_size=1, max_size=5))
def test_any_mix_of_separators(texts: list[list[str]]) -> None:
    boundaries = Boundaries()
    for separators in texts:
        text = "{}" + "".join(separator + '{"x":1}' for separator in separators)
        assert found(boundaries, text) == expected(text)


@pytest.mark.parametrize("separator", _SEPARATORS)
def test_a_separator_that_is_known(separator: str) -> None:
    boundaries = Boundaries()
    text = separator.join(['{"a": {"b": 1}}'] * 9)
    for _ in range(3):
        assert found(boundaries, text) == expected(text)
