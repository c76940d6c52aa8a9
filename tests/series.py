"""Long series of alike or random cases: `make test` runs a sample of each, `make series` runs all of it.

A series is what adds chance, not a kind of case: random jobs, every recording there is, each byte at which a file may
be cut. Cases that are there for a reason of their own are never in one.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterable
from typing import Any, Final, TypeVar

import pytest

T = TypeVar("T")

#: Whether series run at their full length, and whether what hypothesis draws is another in every run.
ANEW: Final = os.environ.get("STEPSCOPE_SERIES") == "anew"
WHOLE: Final = ANEW or os.environ.get("STEPSCOPE_SERIES") == "whole"


def series(cases: Iterable[Any], sample: int) -> list[Any]:
    """Parameters for a test: all cases, or so many, spread evenly with the first and the last; marked as a series."""
    every = list(cases)
    chosen = every if WHOLE else spread(every, sample)
    return [pytest.param(case, marks=pytest.mark.series) for case in chosen]


def rounds(whole: int, sample: int) -> int:
    """How often a test marked as a series repeats something with other random numbers."""
    return whole if WHOLE else sample


def spread(cases: list[T], number: int) -> list[T]:
    """So many of the cases, evenly, with the first and the last."""
    if len(cases) <= number:
        return cases
    last = len(cases) - 1
    return [cases[position * last // max(number - 1, 1)] for position in range(number)]


def drawn(name: str, one_in: int) -> bool:
    """Whether something of this name is in a sample of one in so many: the same one in every run."""
    return WHOLE or zlib.crc32(name.encode()) % one_in == 0
