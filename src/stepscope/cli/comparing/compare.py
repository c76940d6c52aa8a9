"""``stepscope compare``: two recordings side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from stepscope.cli.analyze import Html, Json, Markdown, Top, Xlsx
from stepscope.cli.comparing.gates import FailOn
from stepscope.cli.comparing.sweep import At, By, Csv
from stepscope.cli.options import Device, Memory, NoCache, Store
from stepscope.cli.page.serving import AllowedHosts, Host, NoBrowser, Port, listening_at
from stepscope.language import said

if TYPE_CHECKING:
    from stepscope.comparison.result import Comparison
    from stepscope.model.trace import Trace

Inputs = Annotated[
    list[Path],
    typer.Argument(metavar="BASE [NEW]...", help="Two recordings, or folders of them; or one; more than two: a sweep."),
]
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
View = Annotated[bool, typer.Option("--view", help="Open the comparison in a browser, timelines of both included.")]


def compare(
    paths: Inputs,
    json: Json = None,
    markdown: Markdown = None,
    html: Html = None,
    xlsx: Xlsx = None,
    csv: Csv = None,
    at: At = None,
    by: By = None,
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
    view: View = False,
    port: Port = 0,
    host: Host = "127.0.0.1",
    allowed_host: AllowedHosts = None,
    no_browser: NoBrowser = False,
    device: Device = None,
    memory: Memory = None,
    no_cache: NoCache = False,
    store: Store = None,
) -> None:
    """Compare two recordings: whether NEW is faster than BASE, and what the difference is made of.

    Prints a page to the terminal, or writes the files asked for instead, or serves it until it is interrupted. With
    one input, the options starting with --base say which of its ranks, steps, runs or spans is the base. More than two
    inputs are a sweep: throughput, parts of the step and memory by batch size or number of ranks.
    """
    from stepscope.cli.comparing.files import wanted_files
    from stepscope.cli.comparing.gates import judged, leave, limits_of
    from stepscope.cli.comparing.sweep import is_sweep, sweep
    from stepscope.cli.opening import OpenOptions, open_inputs, stated_device

    limits = limits_of(fail_on or [])
    wanted = wanted_files({"json": json, "markdown": markdown, "html": html, "xlsx": xlsx, "csv": csv}, paths)
    stated = stated_device(device, memory)
    inputs: OpenOptions = {"cache": not no_cache, "store": store, "run": run, "span": span, "stated": stated}
    if is_sweep(paths, at, by, csv):
        refused = {
            "--fail-on": fail_on, "--map": map_, "--level": level, "--input-shape": input_shape, "--top": top,
            "--no-details": no_details, "--confidence": confidence, "--step": step, "--base-step": base_step,
            "--base-rank": base_rank is not None, "--base-run": base_run is not None, "--base-span": base_span,
            "--view": view,
        }  # fmt: skip
        sweep(paths, wanted, at, by, rank, inputs, refused)
        return
    from stepscope.comparison.build import CompareOptions, confidence_of, refuse_itself
    from stepscope.comparison.matching.names import read_names
    from stepscope.jobs.compare import compare_inputs
    from stepscope.model.errors import UserError

    if view and (wanted or limits):
        raise UserError("--view serves the comparison, and neither writes files nor judges limits")
    if len(paths) == 1 and not (base_step or any(one is not None for one in (base_rank, base_run, base_span))):
        hint = said("give a second one, or --base-rank, --base-step, --base-run or --base-span")
        raise UserError("one recording has nothing to be compared with", hint=hint)
    options = CompareOptions(
        rank if base_rank is None else base_rank, rank, tuple(base_step or step or ()), tuple(step or ()),
        confidence_of(confidence), read_names(map_) if map_ is not None else {}, not no_findings,
        _levels(level), not no_details, input_shape, pages=not view and {*wanted} <= {"markdown"},
    )  # fmt: skip
    with (
        listening_at(host, port, allowed_host or (), not no_browser) if view else nullcontext() as served,
        open_inputs([paths[:1], paths[-1:]], cache=not no_cache, store=store, stated=stated, locked=view) as opened,
        opened.open(0, run if base_run is None else base_run, span if base_span is None else base_span) as base,
        opened.open(1, run, span) as new,
    ):
        if len(paths) == 1:
            refuse_itself(base, new, options)
        if served is not None:
            from stepscope.web.compared.app import create_app

            served(lambda token, hosts: create_app(base, new, token, options=options, hosts=hosts))
            return
        comparison = compare_inputs(base, new, options)
        if wanted:
            _write(comparison, (base, new), wanted, paths, top or 10, options.levels)
    if not wanted:
        _print(comparison, top or 10, options.levels)
    leave(judged(limits, comparison.metrics))


def _print(comparison: Comparison, top: int, levels: Sequence[str]) -> None:
    import sys

    from stepscope.reports import terminal
    from stepscope.reports.compared.outline import outline

    terminal.write_page(outline(comparison, top, levels), sys.stdout)


def _write(
    comparison: Comparison,
    traces: tuple[Trace, Trace],
    wanted: Mapping[str, Path],
    inputs: Sequence[Path],
    top: int,
    levels: Sequence[str],
) -> None:
    from stepscope.cli.comparing.files import write_files
    from stepscope.reports.compared import written

    def workbook(path: Path) -> None:
        from stepscope.reports.compared import workbook

        workbook.write(comparison, path)

    def html() -> str:
        from stepscope.web.compared import saved

        return saved.document(comparison, *traces, top)

    texts = {kind: partial(text, comparison, top, levels) for kind, text in written.TEXTS.items()}
    write_files(wanted, inputs, {**texts, "html": html}, workbook)


def _levels(given: str | None) -> tuple[str, ...]:
    """The levels asked for; refused before anything is read if there is one that does not exist."""
    from stepscope.comparison.levels import tables_of_levels

    levels = tuple(one.strip() for one in given.split(",")) if given is not None else ()
    tables_of_levels(levels, details=True)
    return levels
