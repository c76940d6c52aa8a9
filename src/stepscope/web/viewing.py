"""What one server shows: an open trace, and the report on it, which is made once in a thread of its own."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from stepscope.model.errors import StepscopeError
from stepscope.reports.build import ReportOptions, build_report

if TYPE_CHECKING:
    from stepscope.model.trace import Trace
    from stepscope.reports.report import Report

#: How long a question for the report waits for it before it is told how far it is, s.
_PATIENCE_SECONDS: Final = 1.0


@dataclass(frozen=True, slots=True)
class Progress:
    """How far the report is."""

    what: str
    done: int
    total: int


class Viewing:
    """An open trace and its report.

    Attributes:
        trace: The trace; several threads may use it.
        options: What the report is to contain.
    """

    def __init__(self, trace: Trace, options: ReportOptions | None = None) -> None:
        self.trace = trace
        self.options = options or ReportOptions()
        self._guard = threading.Lock()
        self._thread: threading.Thread | None = None
        self._done = threading.Event()
        self._progress = Progress("opening", 0, 1)
        self._report: Report | None = None
        self._error: StepscopeError | None = None

    @classmethod
    def made(cls, trace: Trace, report: Report) -> Viewing:
        """An open trace whose report has been made already."""
        found = cls(trace)
        found._report = report
        found._thread = threading.current_thread()
        found._done.set()
        return found

    def start(self) -> None:
        """Begin to make the report, unless that has begun."""
        with self._guard:
            if self._thread is None:
                self._thread = threading.Thread(target=self._make, name="stepscope-report", daemon=True)
                self._thread.start()

    def report(self, patience: float = _PATIENCE_SECONDS) -> Report | Progress:
        """The report, or how far it is.

        Raises:
            StepscopeError: It can't be made.
        """
        self.start()
        if not self._done.wait(patience):
            return self._progress
        if self._report is None:
            raise self._error or StepscopeError("the report could not be made")
        return self._report

    def whole_report(self) -> Report:
        """The report, once it is there.

        Raises:
            StepscopeError: It can't be made.
        """
        self.start()
        self._done.wait()
        report = self.report()
        assert not isinstance(report, Progress)
        return report

    def _make(self) -> None:
        from dataclasses import replace

        try:
            self._report = build_report(self.trace, replace(self.options, progress=self._note))
        except StepscopeError as error:
            self._error = error
        except Exception as error:
            self._error = StepscopeError(f"the report could not be made ({type(error).__name__}: {error})")
        finally:
            self._done.set()

    def _note(self, what: str, done: int, total: int) -> None:
        self._progress = Progress(what, done, total)
