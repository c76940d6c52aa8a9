"""One step, before it is known what ran in it."""

from __future__ import annotations

from dataclasses import dataclass


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
