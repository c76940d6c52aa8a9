"""Something that is made once, in a thread of its own, while others ask how far it is."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextvars import copy_context
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

from stepscope.language import said
from stepscope.model.errors import StepscopeError

T = TypeVar("T")
#: Told what is being done, how much of it is done, and out of how much.
Note = Callable[[str, int, int], None]
#: How long who asks waits before being told how far it is, s.
_PATIENCE_SECONDS: Final = 1.0


@dataclass(frozen=True, slots=True)
class Progress:
    """How far it is."""

    what: str
    done: int
    total: int


class Making(Generic[T]):
    """Something that is made when it is first asked for, in the language of who asks first.

    Args:
        what: What it is called, `the report`.
        make: Makes it, and says how far it is.
        done: What is done to it, `made` or `opened`.
    """

    def __init__(self, what: str, make: Callable[[Note], T], done: str = "made") -> None:
        self._impossible, self._make = f"{what} could not be {done}", make
        self._guard = threading.Lock()
        self._thread: threading.Thread | None = None
        self._done = threading.Event()
        self._progress = Progress("opening", 0, 1)
        self._made: list[T] = []
        self._error: StepscopeError | None = None

    def start(self) -> None:
        """Begin to make it, unless that has begun."""
        with self._guard:
            if self._thread is None:
                self._thread = threading.Thread(
                    target=copy_context().run, args=(self._run,), name="stepscope-making", daemon=True
                )
                self._thread.start()

    def asked(self, patience: float = _PATIENCE_SECONDS) -> T | Progress:
        """It, or how far it is.

        Raises:
            StepscopeError: It can't be made.
        """
        self.start()
        return self._found() if self._done.wait(patience) else self._progress

    def whole(self) -> T:
        """It, once it is there.

        Raises:
            StepscopeError: It can't be made.
        """
        self.start()
        self._done.wait()
        return self._found()

    def _found(self) -> T:
        if self._made:
            return self._made[0]
        raise self._error or StepscopeError(self._impossible)

    def _run(self) -> None:
        try:
            self._made.append(self._make(self._note))
        except StepscopeError as error:
            self._error = error
        except Exception as error:
            self._error = StepscopeError(
                said("{what} ({kind}: {error})", what=self._impossible, kind=type(error).__name__, error=error)
            )
        finally:
            self._done.set()

    def _note(self, what: str, done: int, total: int) -> None:
        self._progress = Progress(what, done, total)
