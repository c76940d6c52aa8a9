"""See when a loader has given a batch, without a frame of ours around what the program's data set does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

#: Counts the batches given; `__next__` raises it once it has the next one.
_COUNT: Final = "_num_yielded"


class ToldWhenSet:
    """An attribute that lies where it lay, in the instance, and is told of when it counts a batch.

    Args:
        tell: Called each time.
    """

    def __init__(self, tell: Callable[[], None]) -> None:
        self._tell = tell

    def __set__(self, instance: Any, value: Any) -> None:
        """Set it; a loader that starts anew sets it to 0, and has given nothing."""
        instance.__dict__[_COUNT] = value
        if value:
            self._tell()

    def __delete__(self, instance: Any) -> None:
        """Delete it."""
        del instance.__dict__[_COUNT]

    def put(self, loader: type) -> None:
        """Put it in place, unless the class has one of its own."""
        if _COUNT not in loader.__dict__:
            setattr(loader, _COUNT, self)
