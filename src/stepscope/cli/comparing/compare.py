"""``stepscope compare``: two recordings side by side."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from stepscope.cli.analyze import Html, Json, Markdown, Top, Xlsx
from stepscope.cli.comparing.gates import FailOn
from stepscope.cli.options import NoCache, Store

if TYPE_CHECKING:
    from stepscope.comparison.result import Comparison

Inputs = Annotated[list[Path], typer.Argument(metavar="BASE [NEW]", help="Two recordings, or folders of them; or one.")]
Rank = Annotated[int | None, typer.Option("--rank", metavar="N", help="Rank of both sides.")]
BaseRank = Annotated[int | None, typer.Option("--base-rank", metavar="N", help="Rank of the base, if another.")]
Step = Annotated[
    list[int] | None, typer.Option("--step", metavar="N", help="Step of both sides, by its number; may be repeated.")
]
BaseStep = Annotated[
    list[int] | None, typer.Option("--base-step", metavar="N", help="Step of the base, if another; may be repeated.")
]
Run = Annotated[str | None, typer.Option("--run", metavar="FOLDER", help="Run of both sides, of several.")]
BaseRun = Annotated[str | None, typer.Option("--base-run", metavar="FOLDER", help="Run of the base, if another.")]
Span = Annotated[
    int | None, typer.Option("--span", min=1, metavar="N", help="Which recording of each rank, in time order.")
]
BaseSpan = Annotated[
    int | None, typer.Option("--base-span", min=1, metavar="N", help="The same of the base, if another.")
]
Confidence = Annotated[
    float | None,
    typer.Option("--confidence", metavar="P", help="Chance that the interval of the ratio holds, 0.99 if not given."),
]
MapFile = Annotated[
    Path | None,
    typer.Option("--map", metavar="FILE", help="JSON object: names of the base, and what they are in NEW."),
]
NoFindings = Annotated[bool, typer.Option("--no-findings", help="Do not run the rules, which takes most of the time.")]
Level = Annotated[
    str | None,
    typer.Option(
        "--level", metavar="NAMES",
        help="Only some of overall, operators, modules, communication, memory, kernels and api, with commas between.",
    ),
]  # fmt: skip
InputShape = Annotated[bool, typer.Option("--input-shape", help="Tell operators apart by the shapes of their inputs.")]
NoDetails = Annotated[bool, typer.Option("--no-details", help="Only sums by name: no pairs of calls, no kernels.")]


def compare(
    paths: Inputs,
    json: Json = None,
    markdown: Markdown = None,
    html: Html = None,
    xlsx: Xlsx = None,
    top: Top = None,
    rank: Rank = None,
    base_rank: BaseRank = None,
    step: Step = None,
    base_step: BaseStep = None,
    run: Run = None,
    base_run: BaseRun = None,
    span: Span = None,
    base_span: BaseSpan = None,
    confidence: Confidence = None,
    fail_on: FailOn = None,
    map_: MapFile = None,
    no_findings: NoFindings = False,
    level: Level = None,
    input_shape: InputShape = False,
    no_details: NoDetails = False,
    no_cache: NoCache = False,
    store: Store = None,
) -> None:
    """Compare two recordings: whether NEW is faster than BASE, and what the difference is made of.

    Prints a page to the terminal, or writes the files asked for instead. With one input, the options starting with
    --base say which of its ranks, steps, runs or spans is the base.
    """
    from stepscope.cli.comparing.gates import judged, leave, limits_of
    from stepscope.cli.opening import open_input
    from stepscope.cli.output import check_output
    from stepscope.comparison.build import CompareOptions, compare_traces, confidence_of
    from stepscope.comparison.matching.names import read_names
    from stepscope.model.errors import UserError

    limits = limits_of(fail_on or [])
    files = {"json": json, "markdown": markdown, "html": html, "xlsx": xlsx}
    wanted = {kind: path for kind, path in files.items() if path is not None}
    for path in wanted.values():
        check_output(path, paths)
    if len(paths) > 2:
        raise UserError(f"{len(paths)} inputs were given", hint="compare two, or ranks, steps, runs or spans of one")
    if len(paths) == 1 and not (base_step or any(one is not None for one in (base_rank, base_run, base_span))):
        hint = "give a second one, or --base-rank, --base-step, --base-run or --base-span"
        raise UserError("one recording has nothing to be compared with", hint=hint)
    options = CompareOptions(
        rank if base_rank is None else base_rank, rank, tuple(base_step or step or ()), tuple(step or ()),
        confidence_of(confidence), read_names(map_) if map_ is not None else {}, not no_findings,
        _levels(level), not no_details, input_shape,
    )  # fmt: skip
    first = (run if base_run is None else base_run, span if base_span is None else base_span)
    cache = not no_cache
    with (
        open_input(paths[:1], cache=cache, store=store, run=first[0], span=first[1]) as base,
        open_input(paths[-1:], cache=cache, store=store, run=run, span=span) as new,
    ):
        comparison = compare_traces(base, new, options)
    for kind, path in wanted.items():
        _write(comparison, kind, path, paths, top or 10)
    if not wanted:
        _print(comparison, top or 10)
    leave(judged(limits, comparison.metrics))


def _print(comparison: Comparison, top: int) -> None:
    import sys

    from stepscope.reports import terminal
    from stepscope.reports.compared.outline import outline

    terminal.write_page(outline(comparison, top), sys.stdout)


def _write(comparison: Comparison, kind: str, path: Path, inputs: list[Path], top: int) -> None:
    from stepscope.cli.output import STDOUT, text_output, writing
    from stepscope.model.errors import UserError
    from stepscope.reports.compared import written

    if kind == "xlsx":
        from stepscope.reports.compared import workbook

        if path == STDOUT:
            raise UserError("a workbook can't be written to standard output", hint="give --xlsx a file name")
        with writing(path, inputs) as temporary:
            workbook.write(comparison, temporary)
    else:
        with text_output(path, inputs) as out:
            out.write(written.TEXTS[kind](comparison, top))
    if path != STDOUT:
        typer.echo(f"wrote {path}", err=True)


def _levels(given: str | None) -> tuple[str, ...]:
    """The levels asked for; refused before anything is read if there is one that does not exist."""
    from stepscope.comparison.levels import tables_of_levels

    levels = tuple(one.strip() for one in given.split(",") if one.strip()) if given else ()
    tables_of_levels(levels, details=True)
    return levels
