"""Values of short texts that occur again and again, worked out once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Generic, TypeVar

T = TypeVar("T")

#: Texts that stand together, as JSON; None for what is absent.
Texts = tuple[bytes | None, ...]
#: Most values that are kept, and the longest texts of one: 32 MiB at most.
_MOST: Final = 1 << 14
_LONGEST: Final = 1 << 11


class Remembering(Generic[T]):
    """A function of texts that keeps what it found for short ones, and forgets all of it where that gets too much."""

    def __init__(self, work_out: Callable[[Texts], T]) -> None:
        self._work_out = work_out
        self._known: dict[Texts, T] = {}

    def __call__(self, texts: Texts) -> T:
        """The value of these texts, which is shared and must not be changed."""
        if texts in self._known:
            return self._known[texts]
        value = self._work_out(texts)
        if sum(len(one) for one in texts if one is not None) <= _LONGEST:
            if len(self._known) >= _MOST:
                self._known.clear()
            self._known[texts] = value
        return value
