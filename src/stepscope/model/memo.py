"""Values computed once, by the first of several threads that ask for each."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from stepscope.model.errors import MissingInputError

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class _Lacking:
    """In place of a value: what the recording lacks for it."""

    error: MissingInputError


class Memo(Generic[T]):
    """Values computed from one object, keyed by the function that computed them; shared by threads."""

    def __init__(self) -> None:
        self._values: dict[object, object] = {}
        self._stated: set[object] = set()
        # Reentrant: a value that asks for itself is a recursion that Python reports, not a wait without end.
        self._locks: defaultdict[object, threading.RLock] = defaultdict(threading.RLock)
        self._guard = threading.Lock()

    def value(self, compute: Callable[[T], object], subject: T) -> object:
        """The value; one thread computes it, others wait. Nothing is kept of a computation that failed by a fault.

        Raises:
            MissingInputError: The recording lacks what it needs.
        """
        found = self._found(compute, subject)
        if isinstance(found, _Lacking):
            raise found.error.without_traceback()  # raising adds to the traceback
        return found

    def _found(self, compute: Callable[[T], object], subject: T) -> object:
        with self._guard:
            if compute in self._values:
                found = self._values[compute] = self._values.pop(compute)  # used last
                return found
            lock = self._locks[compute]
        with lock:
            with self._guard:
                if compute in self._values:
                    return self._values[compute]
            try:
                value = compute(subject)
            except MissingInputError as error:
                value = _Lacking(error.without_traceback())
            with self._guard:
                self._values[compute] = value
            return value

    def state(self, compute: object, value: object) -> None:
        """Set a value that is not to be computed, nor forgotten."""
        with self._guard:
            self._values[compute] = value
            self._stated.add(compute)

    def forget(self, size: Callable[[object], int], least: int, kept: int = 0) -> None:
        """Drop values of at least so many bytes, but for those used last; who holds one keeps it.

        Args:
            size: Bytes of a value.
            least: What is smaller stays.
            kept: How many bytes of the others stay.
        """
        with self._guard:
            known = tuple(item for item in self._values.items() if item[0] not in self._stated)
        dropped = []
        for compute, value in reversed(known):
            if (held := size(value)) >= least:
                kept -= held
                if kept < 0:
                    dropped.append(compute)
        with self._guard:
            for compute in dropped:
                self._values.pop(compute, None)
