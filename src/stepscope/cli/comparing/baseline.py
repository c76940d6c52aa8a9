"""``stepscope baseline``: keep a recording's figures, and hold later recordings against them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from stepscope.cli.command import Command
from stepscope.cli.comparing.compare import Confidence
from stepscope.cli.comparing.gates import FailOn
from stepscope.cli.options import NoCache, PathList, Run, Span, Store

if TYPE_CHECKING:
    from stepscope.comparison.summary import SideSummary

baseline = typer.Typer(help="Keep a recording's figures, and hold later recordings against them.")

Out = Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="The baseline to write; `-` for output.")]
File = Annotated[Path, typer.Argument(metavar="BASELINE", help="What `baseline save` wrote.")]
Rank = Annotated[int | None, typer.Option("--rank", metavar="N", help="Rank, if not the one that waits least.")]
AsJson = Annotated[Path | None, typer.Option("--json", metavar="FILE", help="Write JSON; `-` for standard output.")]


@baseline.command("save", cls=Command)
def save(
    paths: PathList,
    output: Out,
    rank: Rank = None,
    run: Run = None,
    span: Span = None,
    no_cache: NoCache = False,
    store: Store = None,
) -> None:
    """Write the figures of a recording's typical steps to a file."""
    from stepscope.cli.output import STDOUT, check_output, text_output
    from stepscope.comparison.baseline import baseline_text

    check_output(output, paths)
    summary = _summary(paths, rank, run, span, no_cache, store)
    with text_output(output, paths) as out:
        out.write(baseline_text(summary))
    if output != STDOUT:
        typer.echo(f"wrote {output}", err=True)


@baseline.command("check", cls=Command)
def check(
    file: File,
    paths: PathList,
    fail_on: FailOn = None,
    json: AsJson = None,
    confidence: Confidence = None,
    rank: Rank = None,
    run: Run = None,
    span: Span = None,
    no_cache: NoCache = False,
    store: Store = None,
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
    check_output(json, [*paths, file])
    base = read_baseline(file)
    found = against(base, _summary(paths, rank, run, span, no_cache, store), chance)
    results = judged(limits, found.metrics)
    if json is None:
        terminal.write_page(baseline_check.outline(found), sys.stdout)
    else:
        with text_output(json, [*paths, file]) as out:
            out.write(baseline_check.json_text(found, results))
    leave(results)


def _summary(
    paths: list[Path], rank: int | None, run: str | None, span: int | None, no_cache: bool, store: Path | None
) -> SideSummary:
    from stepscope.cli.opening import open_input
    from stepscope.comparison.baseline import baseline_of
    from stepscope.comparison.side import chosen_rank
    from stepscope.reports.selection import chosen_ranks

    with open_input(paths, cache=not no_cache, store=store, run=run, span=span) as trace:
        chosen = chosen_rank(trace, trace)[0] if rank is None else chosen_ranks(trace, [rank])[0]
        return baseline_of(trace, chosen)
