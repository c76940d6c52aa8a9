"""What one server shows: an open trace, and the report on it, which is made once in a thread of its own."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from stepscope.reports.build import ReportOptions, build_report
from stepscope.web.making import Making, Progress

if TYPE_CHECKING:
    from stepscope.model.trace import Trace
    from stepscope.reports.report import Report

__all__ = ["Progress", "Viewing"]


class Viewing:
    """An open trace and its report.

    Attributes:
        trace: The trace; several threads may use it.
        options: What the report is to contain.
    """

    def __init__(self, trace: Trace, options: ReportOptions | None = None) -> None:
        self.trace = trace
        self.options = options or ReportOptions()
        self._making: Making[Report] = Making(
            "the report", lambda note: build_report(self.trace, replace(self.options, progress=note))
        )

    @classmethod
    def made(cls, trace: Trace, report: Report) -> Viewing:
        """An open trace whose report has been made already."""
        found = cls(trace)
        found._making = Making("the report", lambda _: report)
        return found

    def start(self) -> None:
        """Begin to make the report, unless that has begun."""
        self._making.start()

    def report(self) -> Report | Progress:
        """The report, or how far it is.

        Raises:
            StepscopeError: It can't be made.
        """
        return self._making.asked()

    def whole_report(self) -> Report:
        """The report, once it is there.

        Raises:
            StepscopeError: It can't be made.
        """
        return self._making.whole()
