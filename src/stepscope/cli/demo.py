"""``stepscope demo``: the report of a recording that comes with stepscope."""

from __future__ import annotations


def demo() -> None:
    """Analyse a small bundled recording of a simulated training job and print the report."""
    import sys

    from stepscope.cli.opening import open_input
    from stepscope.demo import recording
    from stepscope.reports import terminal
    from stepscope.reports.build import ReportOptions, build_report

    with recording() as path, open_input([path], cache=False, store=None) as trace:
        terminal.write(build_report(trace, ReportOptions(page=True)), sys.stdout, top=8)
