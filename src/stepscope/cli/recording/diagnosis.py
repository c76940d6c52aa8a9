"""What a command that has recorded ends with."""

from __future__ import annotations

from pathlib import Path

import typer

from stepscope.language import said, told


def diagnose(folder: Path) -> None:
    """Print what `stepscope analyze` says; a sentence where it can't, since the exit status is the program's."""
    import sys

    from stepscope.cli.opening import open_input
    from stepscope.model.errors import StepscopeError
    from stepscope.reports import terminal
    from stepscope.reports.build import ReportOptions, build_report

    try:
        with open_input([folder], cache=True, store=None) as trace:
            terminal.write(build_report(trace, ReportOptions(page=True)), sys.stdout, top=10)
    except StepscopeError as error:
        typer.echo(told(said("stepscope: {error}.", error=error)), err=True)
