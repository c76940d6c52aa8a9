"""What `import stepscope` offers: open a recording, ask it, report on it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from stepscope.ingest import Options, open_trace
from stepscope.model.errors import UserError
from stepscope.model.recording import Recording
from stepscope.model.table import Table
from stepscope.model.tables import BY_NAME
from stepscope.model.trace import Trace as CanonicalTrace

if TYPE_CHECKING:
    import pyarrow as pa

    from stepscope.reports.report import Report


class Trace:
    """An open recording of one or more ranks.

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
        """What each rank's recording says of itself."""
        return self._trace.recordings

    def rank(self, rank: int) -> Trace:
        """The trace of one rank only.

        Raises:
            KeyError: The trace has no such rank.
        """
        return Trace(self._trace.rank(rank))

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

        return build.build_report(self._trace, build.Options(tuple(steps), tuple(ranks), tuple(tables)))

    def table(self, name: str) -> Table:
        """A canonical table, or one of the tables of reports, over all ranks.

        A name that is both (`collectives`, `kernels`, ...) means the report's; `sql` reads the canonical one.

        Raises:
            UserError: There is no such table.
            MissingInputError: The recording lacks what the table is computed from.
        """
        from stepscope.analyses.registry import analyses, over_ranks

        if name in analyses():
            return over_ranks(self._trace, analyses()[name])
        if name in BY_NAME:
            return self._trace.table(name)
        known = [*analyses(), *(other for other in BY_NAME if other not in analyses())]
        raise UserError(f"no table is called {name!r}", hint=f"choose from {', '.join(known)}")

    def sql(self, query: str) -> pa.Table:
        """The result of a DuckDB query over the canonical tables."""
        return self._trace.sql(query)

    def close(self) -> None:
        """Release the files; the trace can't be used afterwards."""
        self._trace.close()

    def __enter__(self) -> Trace:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        events = sum(recording.events for recording in self.recordings.values())
        ranks = f"rank {self.ranks[0]}" if len(self.ranks) == 1 else f"{len(self.ranks)} ranks"
        steps = self._trace.scalar("SELECT count(DISTINCT coalesce(number, step)) FROM steps")
        return f"<stepscope.Trace of {ranks}: {events:,} events, {steps} steps; .analyze() says where the time went>"

    def _repr_html_(self) -> str:
        from html import escape

        from stepscope.reports.text import visible

        counted = self._trace.rows("SELECT rank, count(*) AS steps FROM steps GROUP BY rank")
        steps = {row["rank"]: row["steps"] for row in counted}
        rows = [(rank, visible(r.source), f"{r.events:,}", steps.get(rank, 0)) for rank, r in self.recordings.items()]
        body = "".join("<tr>" + "".join(f"<td>{escape(str(cell))}</td>" for cell in row) + "</tr>" for row in rows)
        head = "<tr><th>rank</th><th>recording</th><th>events</th><th>steps</th></tr>"
        return f"<table><thead>{head}</thead><tbody>{body}</tbody></table>"


def open(path: str | Path | Sequence[str | Path], *, cache: bool = True, store: str | Path | None = None) -> Trace:
    """Open a recording, a folder of them, or several of either.

    Args:
        path: A file or folder, or a list of them; one rank per recording.
        cache: Keep what was read for the next time, and use what was kept.
        store: Folder to keep it in; None for the user's cache folder.

    Raises:
        UserError: A path does not exist or holds no recording.
        UnusableInputError: No recording in the input has anything usable.
    """
    return Trace(open_trace(path, Options(cache=cache, store=None if store is None else Path(store))))
