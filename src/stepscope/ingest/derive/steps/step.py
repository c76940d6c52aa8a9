"""One step, before it is known what ran in it, and what steps are called."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: Numbers from here on don't fit column `step`, with room for the steps that are counted on from the highest one.
_TOO_HIGH: Final = 2**31 - 2**20


@dataclass(frozen=True, slots=True)
class Step:
    """A step on the host.

    Attributes:
        name: As recorded, or a made one.
        number: The number in the recorded name; None if it has none.
        ts: Begin.
        dur: Duration, positive.
        partial: Whether it is known that the recording begins or ends inside it.
    """

    name: str
    number: int | None
    ts: int
    dur: int
    partial: bool = False


def called(numbers: Sequence[int | None]) -> NDArray[np.int32]:
    """What column `step` says of each of n steps of a rank, int32[n]: no two the same.

    It is the recorded number. A step without one, and one whose number an earlier step has, go on from the highest:
    where none has a number, steps are counted from 0.
    """
    usable = [number if number is not None and 0 <= number < _TOO_HIGH else None for number in numbers]
    following = max((number for number in usable if number is not None), default=-1) + 1
    found: dict[int, None] = {}
    for number in usable:
        if number is None or number in found:
            number, following = following, following + 1
        found[number] = None
    return np.array(list(found), np.int32)
