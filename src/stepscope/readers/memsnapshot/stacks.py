"""Intern call stacks: each distinct stack once, with place, module and category."""

from __future__ import annotations

from typing import Any, Final

from stepscope.readers.memsnapshot.purpose import StackFrame, describe, frame_text, is_odd, understood

#: Most frames per stack, cut at the outer end: Python allows a thousand nested calls, plus C++ frames.
_DEEPEST: Final = 2000

Row = tuple[int, tuple[int, ...], str | None, str | None, str]


class StackNumbers:
    """Numbers call stacks from 0; equal stacks have one number.

    Attributes:
        odd: Number of frames whose file, line or function is of another type than it should be.
        lost: Number of call stacks that are no list.
    """

    def __init__(self) -> None:
        self._frames: dict[str, int] = {}
        self._understood: list[StackFrame] = []
        self._listed = 0
        self._by_object: dict[int, int] = {}
        self._kept: list[Any] = []
        self._numbers: dict[tuple[int, ...], int] = {}
        self._pending: list[tuple[int, ...]] = []
        self.odd = self.lost = 0

    def number(self, frames: object) -> int | None:
        """The number of a list of frames, innermost first; None if it is empty, or no list, which is counted.

        The list's contents are replaced by its number, so that shared lists are cheap and their frames can be freed.
        """
        if type(frames) is not list:
            self.lost += 1
            return None
        if not frames:
            return None
        if len(frames) == 1 and type(frames[0]) is int:
            return frames[0] if 0 <= frames[0] < len(self._numbers) else None
        by_object = self._by_object
        try:
            key = tuple([by_object[id(frame)] for frame in frames])
        except KeyError:
            key = tuple([self._frame(frame) for frame in frames])
        key = key[:_DEEPEST]
        number = self._numbers.get(key)
        if number is None:
            number = self._numbers[key] = len(self._numbers)
            self._pending.append(key)
        frames[:] = [number]
        return number

    def _frame(self, frame: Any) -> int:
        found = self._by_object.get(id(frame))
        if found is not None:
            return found
        text = frame_text(frame)
        self.odd += is_odd(frame)
        number = self._frames.setdefault(text, len(self._understood))
        if number == len(self._understood):
            self._understood.append(understood(text))
        # Keeping the object keeps its id unique.
        self._by_object[id(frame)] = number
        self._kept.append(frame)
        return number

    def new_stacks(self) -> list[Row]:
        """Rows of `call_stacks` added since the last call."""
        first = len(self._numbers) - len(self._pending)
        frames = self._understood
        rows = [
            (number, key, *describe([frames[frame] for frame in key]))
            for number, key in enumerate(self._pending, first)
        ]
        self._pending = []
        return rows

    def new_frames(self) -> list[tuple[int, str]]:
        """Rows of `call_frames` added since the last call."""
        first = self._listed
        self._listed = len(self._understood)
        return [(number, self._understood[number].text) for number in range(first, self._listed)]

    @property
    def waiting(self) -> int:
        """Number of stacks added since the last call of `new_stacks`."""
        return len(self._pending)
