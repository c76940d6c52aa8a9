"""``stepscope baseline``: keep a recording's figures, and hold later recordings against them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from stepscope.cli.command import Command, CommandGroup
from stepscope.cli.comparing.compare import Confidence
from stepscope.cli.comparing.gates import FailOn
from stepscope.cli.comparing.recorded_rank import RecordedRank, of_a_rank
from stepscope.language import said, told

baseline = typer.Typer(cls=CommandGroup, help="Keep a recording's figures, and hold later recordings against them.")

Out = Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="The baseline to write; `-` for output.")]
File = Annotated[Path, typer.Argument(metavar="BASELINE", help="What `baseline save` wrote.")]
AsJson = Annotated[Path | None, typer.Option("--json", metavar="FILE", help="Write JSON; `-` for standard output.")]


@baseline.command("save", cls=Command)
@of_a_rank
def save(recorded: RecordedRank, output: Out) -> None:
    """Write the figures of a recording's typical steps to a file."""
    from stepscope.cli.output import STDOUT, check_output, text_output
    from stepscope.comparison.baseline import baseline_text

    check_output(output, recorded.paths)
    summary = recorded.summary()
    with text_output(output, recorded.paths) as out:
        out.write(baseline_text(summary))
    if output != STDOUT:
        typer.echo(told(said("wrote {output}", output=output)), err=True)


@baseline.command("check", cls=Command)
@of_a_rank
def check(
    recorded: RecordedRank, file: File, fail_on: FailOn = None, json: AsJson = None, confidence: Confidence = None
) -> None:
    """Compare a recording with a baseline; without --fail-on, the limit is a step time that grew by more than 3 %."""
    import sys

    from stepscope.cli.comparing.gates import judged, leave, limits_of
    from stepscope.cli.output import check_output, text_output
    from stepscope.comparison.baseline import against, read_baseline
    from stepscope.comparison.build import confidence_of
    from stepscope.reports import terminal
    from stepscope.reports.compared import baseline_check

    limits, chance = limits_of(fail_on or ["step_time>3%"]), confidence_of(confidence)
    inputs = [*recorded.paths, file]
    check_output(json, inputs)
    base = read_baseline(file)
    found = against(base, recorded.summary(), chance)
    results = judged(limits, found.metrics)
    if json is None:
        terminal.write_page(baseline_check.outline(found), sys.stdout)
    else:
        with text_output(json, inputs) as out:
            out.write(baseline_check.json_text(found, results))
    leave(results)
