"""What one server shows: an open trace, and the report on it, which is made once in a thread of its own."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from stepscope.language import said, spoken
from stepscope.reports.selection import ReportOptions
from stepscope.web.finished import Finished, answers_to_keep
from stepscope.web.kept_report import KeptReport
from stepscope.web.making import Making, Note, Progress
from stepscope.web.precedence import Precedence

if TYPE_CHECKING:
    from stepscope.model.trace import Trace
    from stepscope.reports.report import Report

__all__ = ["Progress", "Viewing"]

#: A browser that is started with the server asks within this time.
_START_SECONDS: Final = 2.0


class Viewing:
    """An open trace and its report, which is told in each language that is asked for.

    Attributes:
        trace: The trace; several threads may use it.
        options: What the report is to contain.
        precedence: Lets questions about a large recording go before its report, which is made meanwhile.
        keeping: Keeps the report for the next process, once it is made; None where an earlier one has.
    """

    def __init__(self, trace: Trace, options: ReportOptions | None = None) -> None:
        self.trace = trace
        self.options = options or ReportOptions()
        self.precedence = Precedence(_START_SECONDS)
        self.keeping: threading.Thread | None = None
        self._guard, self._building = threading.Lock(), threading.Lock()
        self._report: Report | None = None
        self._made: dict[str, Making[Finished]] = {}

    @classmethod
    def made(cls, trace: Trace, report: Report) -> Viewing:
        """An open trace whose report has been made already."""
        found = cls(trace)
        found._report = report
        return found

    def start(self) -> None:
        """Begin to make the report, unless that has begun."""
        self._making().start()

    def report(self) -> Finished | Progress:
        """The report, or how far it is.

        Raises:
            StepscopeError: It can't be made.
        """
        return self._making().asked()

    def whole_report(self) -> Finished:
        """The report, once it is there.

        Raises:
            StepscopeError: It can't be made.
        """
        return self._making().whole()

    def _making(self) -> Making[Finished]:
        """The report in the language that is spoken."""
        with self._guard:
            if (language := spoken()) not in self._made:
                self._made[language] = Making("the report", self._make)
            return self._made[language]

    def _make(self, note: Note) -> Finished:
        """The report that an earlier process has kept, else a new one."""
        kept = KeptReport(self.trace, self.options)
        if self._report is None and (known := kept.load()) is not None:
            return known
        with self._building:
            if self._report is not None:
                return Finished.of(self._report)
            # Of a small recording no question takes long enough to be felt.
            between = self.precedence.wait if self.trace.large else self.options.between
            if self.trace.large:
                note(said("waiting for the timeline"), 0, 1)
            between()
            from stepscope.reports.build import build_report  # takes longer to import than a kept report to answer

            self._report = report = build_report(self.trace, replace(self.options, progress=note, between=between))
        made = Finished.of(report)

        def keep() -> None:
            if (answers := answers_to_keep(report, made)) is not None:
                kept.save(answers)

        # Whoever waits for the report need not wait for that; the end of the process may cut it short.
        self.keeping = threading.Thread(target=keep, name="stepscope-keeping", daemon=True)
        self.keeping.start()
        return made
