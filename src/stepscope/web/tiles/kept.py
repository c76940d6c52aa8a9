"""Values that are computed when first asked for, by one thread each, and kept up to a size."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Protocol, TypeVar


class Sized(Protocol):
    """Something that knows its size."""

    @property
    def nbytes(self) -> int:
        """Bytes in memory."""


_V = TypeVar("_V", bound=Sized)


class Kept:
    """The values used last; together they take at most so many bytes, or are a single one.

    Args:
        limit: Bytes.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._values: OrderedDict[Hashable, Sized] = OrderedDict()
        self._locks: dict[Hashable, threading.Lock] = {}
        self._guard = threading.Lock()

    def value(self, key: Hashable, compute: Callable[[], _V]) -> _V:
        """The value of a key; others wait for the thread that computes it. A failure keeps nothing."""
        with self._guard:
            if key in self._values:
                self._values.move_to_end(key)
                return self._values[key]  # type: ignore[return-value]
            lock = self._locks.setdefault(key, threading.Lock())
        with lock:
            with self._guard:
                if key in self._values:
                    return self._values[key]  # type: ignore[return-value]
            value = compute()
            with self._guard:
                self._values[key] = value
                while len(self._values) > 1 and self.nbytes > self._limit:
                    self._values.popitem(last=False)
            return value

    @property
    def nbytes(self) -> int:
        """Bytes of all values."""
        return sum(value.nbytes for value in self._values.values())
