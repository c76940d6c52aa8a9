"""``stepscope serving``: what a benchmark's latencies consist of, by a recording of the server."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from stepscope.cli.options import NoCache, PathList, Run, Span, Store
from stepscope.language import said

if TYPE_CHECKING:
    from stepscope.analyses.serving.benchmark import Benchmark
    from stepscope.model.table import Table
    from stepscope.reports.blocks import Outline

Result = Annotated[
    Path,
    typer.Option("--benchmark", metavar="FILE", help="What vllm bench serve or SGLang's bench_serving wrote."),
]
Rank = Annotated[int | None, typer.Option("--rank", metavar="N", help="Passes of this rank.")]
AsJson = Annotated[bool, typer.Option("--json", help="As JSON.")]


def serving(
    paths: PathList,
    benchmark: Result,
    rank: Rank = None,
    json: AsJson = False,
    run: Run = None,
    span: Span = None,
    no_cache: NoCache = False,
    store: Store = None,
) -> None:
    """Say what of a serving benchmark's TTFT, TPOT and ITL the passes of a recording explain."""
    from stepscope.analyses.serving.benchmark import read_benchmark
    from stepscope.analyses.serving.explained import explained
    from stepscope.cli.opening import open_input
    from stepscope.model.errors import MissingInputError, UserError
    from stepscope.reports import terminal
    from stepscope.reports.selection import chosen_ranks

    figures = read_benchmark(_text(benchmark), benchmark.name)
    with open_input(paths, cache=not no_cache, store=store, run=run, span=span) as trace:
        chosen = trace.ranks[0] if rank is None else chosen_ranks(trace, [rank])[0]
        try:
            table = explained(trace.rank(chosen), figures)
        except MissingInputError as error:
            raise UserError(error.message, hint=error.hint) from error
        if json:
            typer.echo(_json(table))
        else:
            terminal.write_page(_page(table, figures), sys.stdout)


def _text(path: Path) -> str:
    """Content of the result.

    Raises:
        UserError: It can't be read.
    """
    from stepscope.model.errors import UserError

    try:
        if path.stat().st_size > 256 << 20:
            raise UserError(
                said("{path} is too large for a benchmark's result", path=path), hint="write it without details"
            )
        return path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        words = getattr(error, "strerror", None) or said("it is no text")
        raise UserError(
            said("{path} can't be read ({words})", path=path, words=words), hint="give a benchmark's JSON"
        ) from error


def _json(table: Table) -> str:
    import json

    return json.dumps({"schema": "stepscope.serving/1", "served_latency": table.records()}, indent=1)


def _page(table: Table, figures: Benchmark) -> Outline:
    from stepscope.language.part_words import in_words
    from stepscope.model.amounts import duration, percent
    from stepscope.reports.blocks import Block, Grid, Heading, Line, Outline, Section

    names = {
        "ttft": said("TTFT, mean"), "tpot": said("TPOT, mean"), "itl": said("ITL, median"),
        "itl p99": said("ITL, 99th percentile"),
    }  # fmt: skip
    headings = (Heading(said("part"), number=False), Heading(said("time")), Heading(said("of it")))
    rows = table.records()
    sections: list[Section] = []
    for of in dict.fromkeys(row["of"] for row in rows):
        mine = [row for row in rows if row["of"] == of]
        cells = tuple(
            (in_words(row["part"]), duration(row["time_ns"]), percent(row["share"]))
            for row in (*sorted(mine[:-1], key=lambda row: -row["time_ns"]), mine[-1])
        )
        whole = duration(sum(row["time_ns"] for row in mine))
        sections.append(Section(said("{name}: {value}", name=names[of], value=whole), (Grid(headings, cells),)))
    notes: tuple[Block, ...] = (
        Line(
            "the passes are those of the recording", "whether it ran under the benchmark's load no file tells", "info"
        ),
    )
    if not rows:
        notes = (Line("neither prompts nor answers of the recording can be held against its figures"), *notes)
    sections.append(Section("What this rests on", notes))
    return Outline(said("What the recorded passes explain of a benchmark"), tuple(_facts(figures)), tuple(sections))


def _facts(figures: Benchmark) -> Iterator[str]:
    yield said(
        "{requests:,} requests, {input_tokens:,.0f} tokens of prompt and {output_tokens:,.0f} of answer each",
        requests=figures.requests,
        input_tokens=figures.input_tokens / figures.requests,
        output_tokens=figures.output_tokens / figures.requests,
    )
    if figures.concurrency:
        yield said("up to {concurrency:,} at a time", concurrency=figures.concurrency)
    if figures.accepted:
        yield said("{accepted:.2f} tokens per verification", accepted=figures.accepted)
