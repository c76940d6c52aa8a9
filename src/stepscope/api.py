"""The Python API, `import stepscope`: open a recording, query it, report on it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from stepscope.ingest import Inputs, Options, open_trace
from stepscope.language import said
from stepscope.model.errors import UserError
from stepscope.model.place import Place
from stepscope.model.recording import Recording
from stepscope.model.showing import present_with
from stepscope.model.suggest import choose
from stepscope.model.table import Table
from stepscope.model.tables import BY_NAME
from stepscope.model.trace import Trace as CanonicalTrace
from stepscope.reports import notebook
from stepscope.store.stated import StatedDevice

if TYPE_CHECKING:
    import pyarrow as pa

    from stepscope.analyses.stepgraph import Prediction
    from stepscope.comparison.result import Comparison
    from stepscope.comparison.sweep.result import Sweep
    from stepscope.reports.report import Report
    from stepscope.rules.finding import Finding
    from stepscope.web.notebook import EmbeddedPage

present_with(notebook.html_of)


class Trace:
    """An open recording of one or more ranks, which several threads may use at a time.

    Made by `stepscope.open`. Use it in a `with` block, or call `close` when done.
    """

    def __init__(self, trace: CanonicalTrace) -> None:
        self._trace = trace

    @property
    def ranks(self) -> tuple[int, ...]:
        """The ranks of the trace, ascending."""
        return self._trace.ranks

    @property
    def recordings(self) -> dict[int, Recording]:
        """Source and attributes of each rank's recording."""
        return self._trace.recordings

    @property
    def places(self) -> tuple[Place, ...]:
        """Every recording of the input with its run, rank and span, those included that are not analysed."""
        return self._trace.places

    def rank(self, rank: int) -> Trace:
        """The trace of one rank only.

        Raises:
            UserError: The trace has no such rank.
        """
        from stepscope.reports.selection import chosen_ranks

        return Trace(self._trace.rank(*chosen_ranks(self._trace, [rank])))

    @property
    def tables(self) -> tuple[str, ...]:
        """The names that `table` knows: the tables of reports, then the canonical ones."""
        from stepscope.analyses.registry import analyses
        from stepscope.cluster.tables import JOB_TABLES

        return (*analyses(), *JOB_TABLES, *(name for name in BY_NAME if name not in analyses()))

    @property
    def steps(self) -> Table:
        """The steps of all ranks, one row per rank and step."""
        return self._trace.table("steps")

    def findings(self, *, steps: Sequence[int] = (), ranks: Sequence[int] = ()) -> tuple[Finding, ...]:
        """The findings, the most expensive first, as in a report.

        Raises:
            UserError: There is no such step or rank.
        """
        return tuple(self.analyze(steps=steps, ranks=ranks).findings)

    def whatif(
        self,
        *,
        scale: Sequence[str] | str = (),
        remove: Sequence[str] | str = (),
        overlap: Sequence[str] | str = (),
        rank: int | None = None,
    ) -> dict[str, Prediction]:
        """Predictions of the mean step, by the change in words; without a change, the estimated saving of each part.

        Args:
            scale: As after `--scale` of `stepscope whatif`, for example `kernel:gemm=0.5`.
            remove: As after `--remove`, for example `data_wait`.
            overlap: As after `--overlap`: `comm` or `copy`.
            rank: Rank to ask; None for the one that waits least for the others.

        Raises:
            UserError: There is no such rank, a word means nothing, or nothing in the recording.
            MissingInputError: The recording has neither device work nor host steps.
        """
        from stepscope.analyses.communication.decisive_rank import decisive_rank
        from stepscope.analyses.stepgraph.whatif.predictions import predictions

        words = {
            option: [given] if isinstance(given, str) else list(given)
            for option, given in (("scale", scale), ("remove", remove), ("overlap", overlap))
        }
        chosen = decisive_rank(self._trace) if rank is None else rank
        return dict(predictions(self.rank(chosen)._trace, words))

    def analyze(self, *, steps: Sequence[int] = (), ranks: Sequence[int] = (), tables: Sequence[str] = ()) -> Report:
        """Run all analyses, or those that make `tables`.

        Args:
            steps: Steps to look at, by their recorded number; empty for all.
            ranks: Ranks to look at; empty for all.
            tables: Names of the tables to compute; empty for all.

        Raises:
            UserError: There is no such step, rank or table.
        """
        from stepscope.reports import build

        return build.build_report(self._trace, build.ReportOptions(tuple(steps), tuple(ranks), tuple(tables)))

    def table(self, name: str) -> Table:
        """A canonical table, or one of the tables of reports, over all ranks that have what it is computed from.

        A name that is both (`collectives`, `kernels`, ...) means the report's; `sql` reads the canonical one.

        Raises:
            UserError: There is no such table.
            MissingInputError: No rank has what the table is computed from.
        """
        from stepscope.analyses.registry import analyses, over_ranks
        from stepscope.cluster.tables import JOB_TABLES

        if name in analyses():
            return over_ranks(self._trace, analyses()[name])
        if name in JOB_TABLES:
            return self.analyze(tables=[name]).tables[name]
        if name in BY_NAME:
            return self._trace.table(name)
        raise UserError(said("no table is called {name!r}", name=name), hint=choose(name, self.tables))

    def sql(self, query: str) -> pa.Table:
        """The result of a DuckDB query over the canonical tables.

        Raises:
            UserError: The database does not answer it.
        """
        from stepscope.model.process.sandbox import answered

        if not query.strip():
            raise UserError("the query is empty", hint="give a SELECT")
        return answered(self._trace.sql, query)

    def view(self, height: int = 800, *, port: int = 0, address: str | None = None) -> EmbeddedPage:
        """The page of `stepscope view` in a frame of a notebook, served by this process until the trace is closed.

        Args:
            height: Height of the frame in pixels.
            port: Port to listen on, on this machine only; 0 takes a free one.
            address: Where the browser finds that port, with `{port}` for its number, such as `/proxy/{port}/`; None
                for what the notebook's environment says (see `docs/python-api.md`), else this machine.

        Raises:
            UserError: The trace is closed, or the port is taken.
        """
        from stepscope.web.notebook import embedded

        return embedded(self._trace, height, port, address)

    def close(self) -> None:
        """Release the files, and end what `view` serves.

        The trace can't be used afterwards: what other threads ask of it ends in a `UserError`.
        """
        self._trace.close()

    def __enter__(self) -> Trace:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        events = sum(recording.events for recording in self.recordings.values())
        if self._trace.closed:
            return f"<stepscope.Trace of {events:,} events: closed>"
        ranks = f"rank {self.ranks[0]}" if len(self.ranks) == 1 else f"{len(self.ranks)} ranks"
        steps = self._trace.scalar("SELECT count(DISTINCT coalesce(number, step)) FROM steps")
        return f"<stepscope.Trace of {ranks}: {events:,} events, {steps} steps; .analyze() says where the time went>"

    def _repr_html_(self) -> str:
        from html import escape

        if self._trace.closed:
            return f"<p>{escape(repr(self))}</p>"
        counted = self._trace.rows("SELECT rank, count(*) AS steps FROM steps GROUP BY rank")
        return notebook.trace_html(self.recordings, {row["rank"]: row["steps"] for row in counted})


def open(
    path: str | Path | Sequence[str | Path],
    *,
    run: str | None = None,
    span: int | None = None,
    device: str | None = None,
    memory: str | None = None,
    cache: bool = True,
    store: str | Path | None = None,
) -> Trace:
    """Open a recording, a folder of them, or several of either.

    Args:
        path: A file or folder, or a list of them.
        run: Of several runs, each with ranks of its own, the name of one; None for the last.
        span: Of several recordings of each rank, the number of one in time order, from 1; None for the usual one.
        device: The device, if the recording does not name it or names it wrongly, such as `Ascend 910B3`.
        memory: The size of its memory, if that is not recorded: `64GiB`.
        cache: Keep what was read for the next time, and use what was kept.
        store: Folder to keep it in; None for the user's cache folder.

    Raises:
        UserError: A path does not exist or holds no recording, or there is no such run, span or device.
        UnusableInputError: No recording in the input has anything usable.
    """
    stated = StatedDevice.of(device, memory)
    return Trace(open_trace(path, replace(_options(cache, store, run, span), stated=stated)))


def compare(
    base: str | Path | Sequence[str | Path],
    new: str | Path | Sequence[str | Path] | None = None,
    *,
    base_rank: int | None = None,
    rank: int | None = None,
    base_steps: Sequence[int] = (),
    steps: Sequence[int] = (),
    base_run: str | None = None,
    run: str | None = None,
    base_span: int | None = None,
    span: int | None = None,
    confidence: float | None = None,
    names: Mapping[str, str] | None = None,
    findings: bool = True,
    levels: Sequence[str] = (),
    details: bool = True,
    shapes: bool = False,
    cache: bool = True,
    store: str | Path | None = None,
) -> Comparison:
    """Compare two recordings: whether `new` is faster than `base`, and what the difference is made of.

    What `rank`, `steps`, `run` and `span` say holds for both sides, unless their namesakes say otherwise of the base.

    Args:
        base: A file or folder, or a list of them.
        new: Another; None for the same, of which the base is another rank, step, run or span.
        base_rank: Rank of the base.
        rank: Rank; None for the one of the base that waits least for the others.
        base_steps: Steps of the base, by their recorded number.
        steps: Steps; empty for the typical ones.
        base_run: Run of the base.
        run: Of several runs, each with ranks of its own, the name of one; None for the last.
        base_span: Span of the base.
        span: Of several recordings of each rank, the number of one in time order, from 1.
        confidence: Chance that the interval of the step time's ratio holds the true one; 0.99 if None.
        names: Names of operators, modules and kernels of `new` by those of `base`, for what was renamed.
        findings: Run the rules on both sides, which takes most of the time.
        levels: Some of overall, operators, modules, communication, memory, kernels and api; empty for all.
        details: Make tables of pairs of calls and of kernels too, not only sums by name.
        shapes: Tell operators apart by the shapes of their inputs.
        cache: Keep what was read for the next time, and use what was kept.
        store: Folder to keep it in; None for the user's cache folder.

    Raises:
        UserError, UnusableInputError: A path holds no recording or nothing usable, or lacks what was asked for.
    """
    from stepscope.comparison.build import CompareOptions, confidence_of, refuse_itself
    from stepscope.jobs.compare import compare_inputs

    options = CompareOptions(
        rank if base_rank is None else base_rank, rank, tuple(base_steps or steps), tuple(steps),
        confidence_of(confidence), names or {}, findings, tuple(levels), details, shapes,
    )  # fmt: skip
    with (
        Inputs([base, base if new is None else new], _options(cache, store)) as inputs,
        inputs.open(0, run if base_run is None else base_run, span if base_span is None else base_span) as one,
        inputs.open(1, run, span) as other,
    ):
        if new is None:
            refuse_itself(one, other, options)
        return compare_inputs(one, other, options)


def sweep(
    inputs: Sequence[str | Path],
    *,
    at: Sequence[int] = (),
    by: str | None = None,
    rank: int | None = None,
    run: str | None = None,
    span: int | None = None,
    cache: bool = True,
    store: str | Path | None = None,
) -> Sweep:
    """Put recordings of one program beside each other by batch size or number of ranks.

    Args:
        inputs: Files or folders, at least one.
        at: Their batch sizes or numbers of ranks; empty for what is recorded.
        by: `batch` or `ranks`; None for what differs.
        rank: Rank of each; None for the one that waits least for the others.
        run: Of several runs, each with ranks of its own, the name of one; None for the last.
        span: Of several recordings of each rank, the number of one in time order, from 1.
        cache: Keep what was read for the next time, and use what was kept.
        store: Folder to keep it in; None for the user's cache folder.

    Raises:
        UserError: A path holds no recording or nothing usable, or what is asked for is not recorded.
    """
    from stepscope.comparison.sweep.axis import check_axis
    from stepscope.comparison.sweep.point import point_of
    from stepscope.comparison.sweep.result import sweep_of

    if not inputs:
        raise UserError("a sweep needs at least one recording", hint="give a list of paths")
    check_axis(len(inputs), at, by)
    points = []
    with Inputs(inputs, _options(cache, store)) as opened:
        for number in range(len(inputs)):
            with opened.open(number, run, span) as trace:
                points.append(point_of(trace, rank))
    return sweep_of(points, at, by)


def _options(cache: bool, store: str | Path | None, run: str | None = None, span: int | None = None) -> Options:
    return Options(cache=cache, store=None if store is None else Path(store), run=run, span=span)
