"""What the recordings of a sweep are ordered by: batch size or number of ranks, as recorded or as given."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal, cast

from stepscope.comparison.sweep.point import SweepPoint
from stepscope.language import said
from stepscope.model.errors import UserError
from stepscope.model.suggest import choose

AxisName = Literal["batch", "ranks", "input"]
#: What `--by` may name.
AXES: Final = ("batch", "ranks")

#: What steps read, as headings.
_PER_STEP: Final = {"images": said("images per step"), "tokens": said("tokens per step")}


@dataclass(frozen=True, slots=True)
class SweepAxis:
    """What the recordings are ordered by.

    Attributes:
        name: batch, ranks, or input where neither is known to differ: then the order in which they were given.
        label: The same for people, with its unit.
        given: Whether the numbers were given, not recorded.
        at: The number of each recording, in the order in which they were given.
    """

    name: AxisName
    label: str
    given: bool
    at: tuple[float, ...]


def numbers_given(text: str | None) -> tuple[int, ...]:
    """The numbers of `--at 8,16,32`; none without text.

    Raises:
        UserError: They are no positive whole numbers.
    """
    words = [word.strip() for word in text.split(",")] if text is not None else []
    if not all(word.isascii() and word.isdigit() and int(word) for word in words):
        raise UserError(said("{text!r} is no list of batch sizes or ranks", text=text), hint="write --at 8,16,32")
    return tuple(int(word) for word in words)


def check_axis(inputs: int, at: Sequence[int], by: str | None) -> None:
    """Refuse what no axis can be made of, before anything is read.

    Raises:
        UserError: There is another number of numbers than of inputs, or no such axis.
    """
    if by is not None and by not in AXES:
        raise UserError(said("a sweep can't be ordered by {by!r}", by=by), hint=choose(by, AXES))
    if at and len(at) != inputs:
        message = said("{numbers} numbers were given for {inputs} inputs", numbers=len(at), inputs=inputs)
        raise UserError(message, hint="give --at a number per input")


def axis_of(points: Sequence[SweepPoint], at: Sequence[int] = (), by: str | None = None) -> SweepAxis:
    """What differs between the recordings: their number of ranks, else what a step of a rank reads.

    Args:
        points: The recordings.
        at: Numbers given for them; empty for what is recorded.
        by: One of `AXES`; None for what differs. Numbers that are given are batch sizes, unless they are the recorded
            numbers of ranks.

    Raises:
        UserError: The batch is asked for, and not recorded.
    """
    ranks = tuple(float(point.ranks) for point in points)
    if at:
        name = cast(AxisName, by or ("ranks" if ranks == tuple(map(float, at)) and len(set(at)) > 1 else "batch"))
        return SweepAxis(
            name, said("batch") if name == "batch" else said("ranks"), given=True, at=tuple(map(float, at))
        )
    if by == "ranks" or (by is None and len(set(ranks)) > 1):
        return SweepAxis("ranks", said("ranks"), given=False, at=ranks)
    items = [point.items for point in points if point.items is not None]
    same = len({point.unit for point in points}) == 1
    if len(items) == len(points) and same and (by == "batch" or len(set(items)) > 1):
        return SweepAxis("batch", _PER_STEP[points[0].unit], given=False, at=tuple(items))
    if by == "batch":
        raise UserError("the recordings do not tell their batch sizes", hint="give them, such as --at 8,16,32")
    return SweepAxis("input", said("input"), given=False, at=tuple(float(i + 1) for i in range(len(points))))
