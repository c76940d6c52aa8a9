"""``stepscope analyze``: where the time went, in a terminal or as a file."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from stepscope.cli.options import (
    Dask,
    Device,
    Ignore,
    Memory,
    NoCache,
    PathList,
    Ranks,
    Run,
    Select,
    Span,
    Steps,
    Store,
    Thresholds,
)
from stepscope.language import said, told

if TYPE_CHECKING:
    from stepscope.analyses.communication.given_groups import GivenGroup
    from stepscope.ingest.workers import MakeWorkers
    from stepscope.model.trace import Trace
    from stepscope.reports.report import Report

Json = Annotated[Path | None, typer.Option("--json", metavar="FILE", help="Write JSON; `-` for standard output.")]
Xlsx = Annotated[Path | None, typer.Option("--xlsx", metavar="FILE", help="Write a workbook, a sheet per table.")]
Markdown = Annotated[
    Path | None, typer.Option("--markdown", metavar="FILE", help="Write Markdown; `-` for standard output.")
]
Csv = Annotated[
    Path | None,
    typer.Option(
        "--csv", metavar="PATH", help="Write tables as CSV: of one `--table` a file, `-` for output; else a folder."
    ),
]
Html = Annotated[Path | None, typer.Option("--html", metavar="FILE", help="Write a page that works offline.")]
Top = Annotated[int | None, typer.Option("--top", min=1, metavar="N", help="Rows shown of each table.")]
TableNames = Annotated[
    list[str] | None, typer.Option("--table", metavar="NAME", help="Only this table, whole; may be repeated.")
]
Groups = Annotated[
    Path | None,
    typer.Option("--groups", metavar="FILE", help="JSON: what groups of ranks are for, where recordings don't tell."),
]
All = Annotated[bool, typer.Option("--all", help="Show findings below 1 % of the step too.")]


def analyze(
    ctx: typer.Context,
    paths: PathList,
    json: Json = None,
    xlsx: Xlsx = None,
    markdown: Markdown = None,
    csv: Csv = None,
    html: Html = None,
    step: Steps = None,
    rank: Ranks = None,
    top: Top = None,
    table: TableNames = None,
    select: Select = None,
    ignore: Ignore = None,
    set_: Thresholds = None,
    all_: All = False,
    run: Run = None,
    span: Span = None,
    device: Device = None,
    memory: Memory = None,
    no_cache: NoCache = False,
    store: Store = None,
    scheduler: Dask = None,
    groups: Groups = None,
) -> None:
    """Show what is wrong with a recording, where each step's time went, and why.

    Prints a report to the terminal, or writes the files asked for instead.
    """
    files = {"json": json, "xlsx": xlsx, "markdown": markdown, "csv": csv, "html": html}
    wanted = {kind: path for kind, path in files.items() if path is not None}
    from stepscope.cli.ahead import import_ahead
    from stepscope.cli.opening import open_input, progress, stated_device
    from stepscope.cli.output import check_distinct, check_output
    from stepscope.cli.speed import with_few_heaps
    from stepscope.rules import settings

    check_distinct(wanted)
    for path in wanted.values():
        if path == csv and len(table or ()) != 1:
            _check_csv(path)
        else:
            check_output(path, paths)
    given, stated = _given(groups), stated_device(device, memory)
    rules = settings.load(Path.cwd()).selecting(select or (), ignore or ()).setting(set_ or ())
    with_few_heaps()
    with (
        _workers(scheduler) as workers,
        open_input(
            paths,
            cache=not no_cache,
            store=store,
            run=run,
            span=span,
            stated=stated,
            workers=workers,
            meanwhile=import_ahead,
        ) as trace,
        progress(said("analysing")) as report_progress,
    ):
        from stepscope.reports.build import ReportOptions, build_report

        options = ReportOptions(
            tuple(step or ()), tuple(rank or ()), tuple(table or ()),
            page=not (json or xlsx or csv or html), rules=rules, all_findings=all_,
            strict=bool(ctx.obj), progress=report_progress, groups=given, workers=workers,
        )  # fmt: skip
        report = build_report(trace, options)
        page = _page(report, trace, top) if html else ""
    for kind, path in wanted.items():
        _write(report, kind, path, paths, top, page)
    if not wanted:
        _print(report, top)


def _given(groups: Path | None) -> tuple[GivenGroup, ...]:
    if groups is None:
        return ()
    from stepscope.cluster.groups_file import read_groups

    return read_groups(groups)


def _workers(scheduler: str | None) -> AbstractContextManager[MakeWorkers | None]:
    if scheduler is None:
        return nullcontext()
    from stepscope.ingest.dask_workers import dask_workers

    return dask_workers(scheduler)


def _print(report: Report, top: int | None) -> None:
    import sys

    from stepscope.reports import terminal

    terminal.write(report, sys.stdout, top=top or (10 if not report.selection.tables else 50))


def _page(report: Report, trace: Trace, top: int | None) -> str:
    from stepscope.web import saved

    return saved.document(report, trace, top or 10)


def _write(report: Report, kind: str, path: Path, inputs: list[Path], top: int | None, page: str) -> None:
    from stepscope.cli.output import STDOUT, text_output, writing
    from stepscope.model.errors import UserError

    if kind == "xlsx":
        from stepscope.reports import xlsx

        if path == STDOUT:
            raise UserError("a workbook can't be written to standard output", hint="give --xlsx a file name")
        with writing(path, inputs) as temporary:
            xlsx.write(report, temporary)
    elif kind == "csv":
        _write_csv(report, path, inputs)
    else:
        with text_output(path, inputs) as out:
            out.writelines([page] if kind == "html" else _lines(report, kind, top))
    if path != STDOUT:
        typer.echo(told(said("wrote {path}", path=path)), err=True)


def _check_csv(path: Path) -> None:
    """Refuse what a folder of tables can't be written to, before they are made."""
    from stepscope.cli.output import STDOUT, check_folder
    from stepscope.model.errors import UserError

    if path == STDOUT:
        raise UserError("several tables can't be written to standard output", hint="choose one with --table")
    check_folder(path)


def _write_csv(report: Report, path: Path, inputs: list[Path]) -> None:
    """A file of the one table that was asked for, or a folder with a file for each."""
    from stepscope.cli.output import text_output, writing_folder
    from stepscope.reports.exports import csv_tables

    if len(report.selection.tables) == 1:
        with text_output(path, inputs) as out:
            csv_tables.write_table(report.table(report.selection.tables[0]), out)
        return
    with writing_folder(path) as temporary:
        csv_tables.write_tables(report, temporary)


def _lines(report: Report, kind: str, top: int | None) -> list[str]:
    from stepscope.reports import json, markdown

    return list(json.lines(report)) if kind == "json" else [markdown.text(report, top or 10)]
