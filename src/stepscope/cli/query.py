"""``stepscope query``: SQL over the canonical tables."""

from __future__ import annotations

import sys
from enum import Enum
from pathlib import Path
from typing import Annotated

import typer

from stepscope.cli.options import NoCache, OnePath, Run, Span, Store
from stepscope.language import said, told


class ResultFormat(str, Enum):
    """How the result is written."""

    table = "table"
    csv = "csv"
    json = "json"
    parquet = "parquet"


Sql = Annotated[str, typer.Argument(metavar="SQL", help="One SELECT over the tables of `stepscope schema`.")]
FormatOption = Annotated[
    ResultFormat, typer.Option("--format", metavar="table|csv|json|parquet", help="How to write the result.")
]
Output = Annotated[Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write to a file.")]
Timeout = Annotated[
    float,
    typer.Option(
        min=0, metavar="SECONDS", show_default=False, help="Give up after this long, 300 if not given; 0 for never."
    ),
]
Memory = Annotated[
    int,
    typer.Option(
        min=0, metavar="MB", show_default=False, help="Give up beyond this much memory, 2000 if not given; 0: all."
    ),
]


def query(
    path: OnePath,
    sql: Sql,
    format: FormatOption = ResultFormat.table,
    output: Output = None,
    timeout: Timeout = 300,
    memory: Memory = 2000,
    run: Run = None,
    span: Span = None,
    no_cache: NoCache = False,
    store: Store = None,
) -> None:
    """Ask the canonical tables a question in SQL (DuckDB's dialect).

    Queries only read: they reach no file, no network and no setting.
    """
    from stepscope.cli import results
    from stepscope.cli.answer import answer
    from stepscope.cli.opening import open_input
    from stepscope.cli.output import STDOUT, check_output, text_output, writing
    from stepscope.cli.plain_characters import show_plainly
    from stepscope.model.errors import UserError

    if output == STDOUT:
        output = None
    check_output(output, [path])
    if format is ResultFormat.parquet and output is None and sys.stdout.isatty():
        raise UserError("Parquet can't be shown in a terminal", hint="give --output FILE")
    with open_input([path], cache=not no_cache, store=store, run=run, span=span, locked=True) as trace:
        trace.check_reads_only(sql)
        with answer(trace, sql, timeout=timeout, memory_mb=memory) as batches:
            if format is ResultFormat.parquet:
                with writing(output, [path]) if output else results.binary_stdout() as target:
                    results.write_parquet(batches, target)
            else:
                show_plainly(recorded=format is not ResultFormat.table)
                with text_output(output, [path]) as out:
                    results.WRITERS[format.value](batches, out)
    if output is not None:
        typer.echo(told(said("wrote {output}", output=output)), err=True)
