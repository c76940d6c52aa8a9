"""``stepscope export``: a trace, whole or cut down, for other tools."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from stepscope.cli.options import NoCache, PathList, Ranks, Run, Span, Steps, Store
from stepscope.language import said, told

if TYPE_CHECKING:
    from stepscope.cli.opening import OpenOptions
    from stepscope.model.trace import Trace
    from stepscope.reports.exports.ascend_rank import RankSums


class Target(str, Enum):
    """A format to export to."""

    parquet = "parquet"
    chrome = "chrome"
    perfetto = "perfetto"
    folded = "folded"
    ascend_cluster = "ascend-cluster"


class Time(str, Enum):
    """Whose time folded stacks count."""

    host = "host"
    device = "device"


To = Annotated[
    Target,
    typer.Option(
        "--to",
        metavar="parquet|chrome|perfetto|folded|ascend-cluster",
        help="parquet: a folder of tables; chrome or perfetto: for Perfetto; folded: stacks for flame graphs; "
        "ascend-cluster: a folder with the cluster outputs of Ascend's tools.",
    ),
]
Output = Annotated[
    Path | None,
    typer.Option(
        "--output", "-o", metavar="FILE", help="Where to write (.gz is compressed); standard output if not given."
    ),
]
From = Annotated[
    str | None, typer.Option("--from", metavar="TIME", help="Events that end after this time, such as 1.5s or 200ms.")
]
Until = Annotated[str | None, typer.Option("--until", metavar="TIME", help="Events that begin before this time.")]
Categories = Annotated[
    list[str] | None, typer.Option("--category", metavar="NAME", help="Only events of this category; may be repeated.")
]
StackTime = Annotated[Time, typer.Option("--time", metavar="host|device", help="Whose time folded stacks count.")]

_UNITS: Final = {"ns": 1, "us": 10**3, "µs": 10**3, "ms": 10**6, "s": 10**9}


def export(
    paths: PathList,
    to: To,
    output: Output = None,
    since: From = None,
    until: Until = None,
    step: Steps = None,
    rank: Ranks = None,
    category: Categories = None,
    time: StackTime = Time.device,
    run: Run = None,
    span: Span = None,
    no_cache: NoCache = False,
    store: Store = None,
) -> None:
    """Write a trace, or a part of it, in the format of another tool.

    Times count from the beginning of the trace.
    """
    from stepscope.analyses.shared.narrow import Filter, narrowed
    from stepscope.cli.opening import open_input
    from stepscope.cli.output import STDOUT, check_output
    from stepscope.reports.exports import folded
    from stepscope.reports.selection import chosen_ranks, steps_of_rank

    if to is Target.ascend_cluster:
        _refuse_parts(since, until, category)
        opening: OpenOptions = {"cache": not no_cache, "store": store, "run": run, "span": span, "stated": None}
        _to_folder(output, lambda folder: _write_cluster(paths, folder, rank or [], step or [], opening))
        typer.echo(told(said("wrote {output}", output=output)), err=True)
        return
    limits = Filter(None, _time("--from", since), _time("--until", until), _categories(category or []))
    if to is not Target.parquet:
        check_output(output, paths)
    with open_input(paths, cache=not no_cache, store=store, run=run, span=span) as trace:
        ranks = chosen_ranks(trace, rank or [])
        steps = steps_of_rank(trace, ranks, step or [])
        keep = {
            number: Filter(steps[number] if step else None, limits.since, limits.until, limits.categories)
            for number in ranks
        }
        _check_times(trace, limits.since, limits.until)
        traces = [narrowed(trace.rank(number), keep[number]) for number in ranks]
        if to is Target.parquet:
            from stepscope.reports.exports import parquet

            _to_folder(output, lambda folder: parquet.write(traces, folder))
        elif to in (Target.chrome, Target.perfetto):
            from stepscope.reports.exports import chrome

            _to_file(chrome.lines(traces), output, paths)
        else:
            _to_file((line for one in traces for line in folded.lines(one, time.value)), output, paths)
    if output is not None and output != STDOUT:
        typer.echo(told(said("wrote {output}", output=output)), err=True)


def _to_folder(output: Path | None, write: Callable[[Path], None]) -> None:
    from stepscope.cli.output import writing_folder
    from stepscope.model.errors import UserError

    if output is None:
        raise UserError("an export of several files is written into a folder", hint="give --output DIR")
    with writing_folder(output) as temporary:
        write(temporary)


def _write_cluster(paths: list[Path], folder: Path, wanted: list[int], steps: list[int], options: OpenOptions) -> None:
    """Write the cluster outputs from the profiler's sums, where these can be read alone, else from whole recordings."""
    from contextlib import ExitStack

    from stepscope.cli.opening import open_input, open_summed, progress
    from stepscope.reports.exports import ascend_cluster
    from stepscope.reports.exports.ascend_rank import sums_of
    from stepscope.reports.selection import ranks_of

    with ExitStack() as stack:
        job = open_summed(paths, by_step=bool(steps), **options) or stack.enter_context(open_input(paths, **options))
        ranks = ranks_of(tuple(job.ranks), wanted)
        show = stack.enter_context(progress(said("reading")))

        def sums() -> Iterator[RankSums]:
            for done, number in enumerate(ranks):
                show(said("rank {number}", number=number), done, len(ranks))
                with job.rank(number) as one:
                    if one is not None:
                        yield sums_of(number, one, steps or None)

        ascend_cluster.write(sums(), folder, steps)


def _refuse_parts(since: str | None, until: str | None, category: list[str] | None) -> None:
    from stepscope.model.errors import UserError

    if since or until or category:
        raise UserError(
            "the profiler's sums are of whole steps", hint="leave out --from, --until and --category, or choose --step"
        )


def _to_file(lines: Iterable[str], output: Path | None, inputs: list[Path]) -> None:
    import gzip

    from stepscope.cli.output import text_output, writing

    if output is not None and output.suffix == ".gz":
        with writing(output, inputs) as temporary, gzip.open(temporary, "wt", 5, encoding="utf-8") as packed:
            packed.writelines(lines)
        return
    with text_output(output, inputs) as out:
        out.writelines(lines)


def _time(option: str, text: str | None) -> int | None:
    """Nanoseconds from `1.5s`, `200ms`, `10us`, `500ns` or a plain number of nanoseconds."""
    from decimal import Decimal

    from stepscope.model.errors import UserError

    if text is None:
        return None
    found = re.fullmatch(r"(\d{1,18}(?:\.\d{1,9})?)\s*(ns|us|µs|ms|s)?", text.strip())
    if found is None:
        raise UserError(
            said("{option} {text!r} is no time", option=option, text=text),
            hint="write it as 1.5s, 200ms, 10us or 500ns",
        )
    return int(Decimal(found[1]) * _UNITS[found[2] or "ns"])


def _check_times(trace: Trace, since: int | None, until: int | None) -> None:
    """Refuse times between which nothing was recorded."""
    from stepscope.model.amounts import duration
    from stepscope.model.errors import UserError

    if since is None and until is None:
        return
    end = trace.scalar("SELECT max(ts + coalesce(dur, 0)) FROM events") or 0
    if since is not None and since >= end:
        raise UserError(
            said("--from lies behind the end of the trace, which is {end} long", end=duration(end)), hint="give less"
        )
    if until is not None and until <= 0:
        raise UserError("--until lies before the start of the trace", hint="times count from there")
    if since is not None and until is not None and until <= since:
        raise UserError("--until lies before --from", hint="give a later time")


def _categories(names: list[str]) -> tuple[str, ...]:
    from stepscope.model.categories import CATEGORIES
    from stepscope.model.errors import UserError
    from stepscope.model.suggest import choose

    for name in names:
        if name not in CATEGORIES:
            raise UserError(said("no category is called {name!r}", name=name), hint=choose(name, CATEGORIES))
    return tuple(names)
