"""One input being opened in the background, and then what is shown of it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from starlette.applications import Starlette

from stepscope.model.errors import StepscopeError, UserError
from stepscope.web.app import application
from stepscope.web.viewing import Progress, Viewing

if TYPE_CHECKING:
    from stepscope.model.trace import Trace
    from stepscope.reports.selection import ReportOptions

#: Opens an input; is given what to tell its progress.
Open = Callable[[Callable[[str, int, int], None]], "Trace"]


class Opening:
    """An input that opens in a thread, and an application for all of its ranks or for one.

    Args:
        open_input: Opens it.
        options: What reports are to contain.
    """

    def __init__(self, open_input: Open, options: Callable[[], ReportOptions]) -> None:
        self._open, self._options = open_input, options
        self._guard = threading.Lock()
        self._done = threading.Event()
        self._closed = False
        self._progress = Progress("opening", 0, 1)
        self._trace: Trace | None = None
        self._error: StepscopeError | None = None
        self._shown: dict[int | None, Starlette] = {}
        threading.Thread(target=self._run, name="stepscope-opening", daemon=True).start()

    @property
    def progress(self) -> Progress | None:
        """How far it is; None once it is open or has failed."""
        return None if self._done.is_set() else self._progress

    @property
    def error(self) -> StepscopeError | None:
        """Why it can't be opened."""
        return self._error

    @property
    def trace(self) -> Trace | None:
        """What it is, once it is open."""
        return self._trace

    def shown(self, rank: int | None) -> Starlette:
        """What answers for all ranks (None) or one, once it is open.

        Raises:
            StepscopeError: It can't be opened, or has no such rank.
        """
        self._done.wait()
        if self._error is not None or self._trace is None:
            raise self._error or UserError("the recording was closed", hint="open it anew")
        if rank is not None and rank not in self._trace.ranks:
            raise UserError(f"the recording has no rank {rank}")
        with self._guard:
            if rank not in self._shown:
                viewing = Viewing(self._trace if rank is None else self._trace.rank(rank), self._options())
                viewing.start()
                self._shown[rank] = application(viewing)
            return self._shown[rank]

    def close(self) -> None:
        """Release the input, at once or as soon as it is open; what others ask of it ends in a `UserError`."""
        with self._guard:
            self._closed = True
            trace, self._trace = self._trace, None
        if trace is not None:
            trace.close()

    def _run(self) -> None:
        try:
            trace = self._open(self._note)
            with self._guard:
                if not self._closed:
                    self._trace = trace
            if self._closed:
                trace.close()
        except StepscopeError as error:
            self._error = error
        except Exception as error:
            self._error = StepscopeError(f"the recording could not be opened ({type(error).__name__}: {error})")
        finally:
            self._done.set()

    def _note(self, what: str, done: int, total: int) -> None:
        self._progress = Progress(what, done, total)
