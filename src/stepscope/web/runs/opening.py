"""One input being opened in the background, and then what is shown of it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from starlette.applications import Starlette

from stepscope.language import said
from stepscope.model.errors import StepscopeError, UserError
from stepscope.web.app import application
from stepscope.web.making import Making, Note, Progress
from stepscope.web.viewing import Viewing

if TYPE_CHECKING:
    from stepscope.model.trace import Trace
    from stepscope.reports.selection import ReportOptions

#: Opens an input; is given what to tell its progress.
Open = Callable[[Note], "Trace"]


class Opening:
    """An input that opens in a thread, and an application for all of its ranks or for one.

    Args:
        open_input: Opens it.
        options: What reports are to contain.
    """

    def __init__(self, open_input: Open, options: Callable[[], ReportOptions]) -> None:
        self._open, self._options = open_input, options
        self._guard = threading.Lock()
        self._closed = False
        self._trace: Trace | None = None
        self._shown: dict[int | None, Starlette] = {}
        self._making = Making("the recording", self._opened, "opened")
        self._making.start()

    @property
    def progress(self) -> Progress | None:
        """How far it is; None once it is open or has failed."""
        found = self._now()
        return found if isinstance(found, Progress) else None

    @property
    def error(self) -> StepscopeError | None:
        """Why it can't be opened."""
        found = self._now()
        return found if isinstance(found, StepscopeError) else None

    @property
    def trace(self) -> Trace | None:
        """What it is, while it is open."""
        return self._trace

    def shown(self, rank: int | None) -> Starlette:
        """What answers for all ranks (None) or one, once it is open.

        Raises:
            StepscopeError: It can't be opened, or has no such rank.
        """
        self._making.whole()
        trace = self._trace
        if trace is None:
            raise UserError("the recording was closed", hint="open it anew")
        if rank is not None and rank not in trace.ranks:
            raise UserError(said("the recording has no rank {rank}", rank=rank))
        with self._guard:
            if rank not in self._shown:
                viewing = Viewing(trace if rank is None else trace.rank(rank), self._options())
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

    def _opened(self, note: Note) -> Trace:
        trace = self._open(note)
        with self._guard:
            if not self._closed:
                self._trace = trace
        if self._closed:
            trace.close()
        return trace

    def _now(self) -> Trace | Progress | StepscopeError:
        try:
            return self._making.asked(0)
        except StepscopeError as error:
            return error
