"""A step's host interval, and step numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: Numbers from here on don't fit column `step`, leaving room to continue from the highest one.
_TOO_HIGH: Final = 2**31 - 2**20


@dataclass(frozen=True, slots=True)
class HostStep:
    """A step on the host.

    Attributes:
        name: As recorded, or generated.
        number: The number in the recorded name; None if it has none.
        ts: Start in ns.
        dur: Duration in ns, positive.
        partial: Whether the recording is known to start or end inside it.
    """

    name: str
    number: int | None
    ts: int
    dur: int
    partial: bool = False


def called(numbers: Sequence[int | None]) -> NDArray[np.int32]:
    """Distinct values of column `step` for the n steps of a rank, int32[n].

    A step keeps its recorded number. Steps without one, and those whose number an earlier step has, continue from the
    highest; without any numbers, steps count from 0.
    """
    usable = [number if number is not None and 0 <= number < _TOO_HIGH else None for number in numbers]
    following = max((number for number in usable if number is not None), default=-1) + 1
    found: dict[int, None] = {}
    for number in usable:
        if number is None or number in found:
            number, following = following, following + 1
        found[number] = None
    return np.array(list(found), np.int32)
