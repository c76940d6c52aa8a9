"""Pass over steps that are as usual, and count them later, all at once."""

from __future__ import annotations

from operator import sub
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from stepscope.record.job.loops import Loops
    from stepscope.record.job.report import ProcessReport
    from stepscope.record.job.watch.clock import StepClock
    from stepscope.record.job.watch.pace import StepPace
    from stepscope.record.job.windows import Windows

#: Nanoseconds after which a step is looked at whatever its length, and with it files that ask and memory.
_BETWEEN_NS: Final = 250_000_000


def pass_over(pace: StepPace, loops: Loops, windows: Windows, start: int) -> None:
    """Pass over what follows in the calling thread, whose step starts now, if there is no reason to look at each step.

    Args:
        pace: What does so.
        loops: What finds the loop's steps.
        windows: What decides about recording.
        start: When the step starts.
    """
    finder = loops.finder
    limit = windows.passes_over(finder.number)
    if limit and finder.is_regular:
        pace.open(finder, start, limit, start + _BETWEEN_NS, only=loops.is_settled)


def catch_up(pace: StepPace, loops: Loops, windows: Windows, report: ProcessReport, clock: StepClock | None) -> None:
    """Count what was passed over, and pass over nothing more.

    Args:
        pace: What did so.
        loops: What finds the loop's steps.
        windows: What decides about recording.
        report: Of the process.
        clock: Keeps steps, if they are kept.
    """
    finder = pace.finder
    pace.close()
    if finder is None or finder is not loops.finder:
        return
    first, ends = finder.number, pace.ends
    finder.passed_over(len(ends), pace.order, awaits=pace.awaits)
    if not ends:
        return
    lengths = list(map(sub, ends, [pace.start, *ends]))
    report.passed_over(ends[-1], lengths)
    windows.passed_over(lengths)
    if clock is not None:
        clock.passed_over(first, ends, lengths, pace.waits or [0] * len(ends))
