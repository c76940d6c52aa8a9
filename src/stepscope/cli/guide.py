"""``stepscope guide``: from a symptom, or a recording, to what to run and what to set."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from stepscope.language import said, told

if TYPE_CHECKING:
    from stepscope.guide.walk import Walk

Symptom = Annotated[
    list[str] | None, typer.Argument(metavar="[SYMPTOM]", help="What is wrong, in words; or a recording.")
]


def guide(symptom: Symptom = None) -> None:
    """Lead from a symptom to the command that finds its cause, and the setting that mends it.

    With a recording, walk the same way with its numbers.
    """
    from stepscope.guide import text
    from stepscope.guide.finding_place import place
    from stepscope.guide.tree import BY_KEY
    from stepscope.reports.text import visible

    words = " ".join(symptom or [])
    if not words:
        typer.echo(text.page(BY_KEY["start"]))
        typer.echo("\n" + told(said("Places: {places}", places=", ".join(BY_KEY))))
    elif words not in BY_KEY and Path(words).exists():
        found = text.walked(_walk(Path(words)), words)
        typer.echo("\n".join(visible(line) for line in found.splitlines()))
    else:
        typer.echo(text.page(place(words)))


def _walk(path: Path) -> Walk:
    from stepscope.cli.opening import open_input
    from stepscope.guide.walk import walk
    from stepscope.reports.build import build_report
    from stepscope.reports.selection import ReportOptions

    with open_input([path], cache=True, store=None) as trace:
        report = build_report(trace, ReportOptions(page=True))
        return walk(report.rows("step_budget"), report.rows("idle_causes"), report.findings)
