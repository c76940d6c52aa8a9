"""An open trace: the canonical tables of one rank or of many, ready to be queried."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import count
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

import numpy as np

from stepscope.model.place import Place
from stepscope.model.process.connections import Connections
from stepscope.model.process.fetching import Parameters, fetch, fetch_many
from stepscope.model.process.spill import spill_folder
from stepscope.model.recording import Recording
from stepscope.model.sizes import SIZES
from stepscope.model.table import Table
from stepscope.model.tables import BY_NAME

if TYPE_CHECKING:
    from pathlib import Path

    import duckdb
    import pyarrow as pa
    from numpy.typing import NDArray

    from stepscope.model.process.databases import Database
from stepscope.model.memo import Memo

#: A line of health about the input as a whole: code, severity, count, message, effect.
Note = tuple[str, str, int, str, str]
_T = TypeVar("_T")
#: Numbers for names of temporary tables; drawing one is atomic.
_NUMBERS: Final = count()


class Trace:
    """The canonical tables of one or more ranks in DuckDB, with one connection per thread.

    Every table of `stepscope.model.tables` is a view. A trace of a single rank also has the views that analyses
    read: `spans` (`events` without `args`, with `name_id` in place of `name`), `names(name_id, name)` and `activities`
    (`kernels` joined with their launches: `stepscope.store.activities`). `stepscope.open` returns traces.

    Attributes:
        notes: Health notes about the input as a whole, such as skipped files.
        places: Every recording of the input with its run, rank and span, those included that are not analysed.
        folders: Folder of each rank's store; empty where a trace is narrowed or of another thread.
        stores: Ranks and the keys under which their recordings, and those that add to them, are stored, which change
            with their content; empty where a trace is narrowed or of another thread, or has no such keys.
    """

    def __init__(
        self,
        database: Database,
        recordings: Mapping[int, Recording],
        select_rank: Callable[[int], Callable[[], Trace]],
        notes: Sequence[Note] = (),
        views: Mapping[str, str] | None = None,
        places: Sequence[Place] = (),
        folders: Mapping[int, Path] | None = None,
        locked: Callable[[], Trace] | None = None,
    ) -> None:
        self._connections = Connections(database, views or {})
        self._recordings = dict(recordings)
        self._select_rank = select_rank
        self.notes = tuple(notes)
        self.places = tuple(places)
        self.folders = dict(folders or {})
        self.stores: tuple[tuple[int, str], ...] = ()
        self._locked = locked
        #: The trace that this one is a part of, kept alive because it owns the files of an uncached input.
        self._whole: Trace | None = None
        self._views = dict(views or {})
        self._memo = Memo[Trace]()
        self._closing: list[Callable[[], object]] = []

    @property
    def recordings(self) -> dict[int, Recording]:
        """Metadata of each rank's recording."""
        return dict(self._recordings)

    @property
    def ranks(self) -> tuple[int, ...]:
        """The ranks of the trace, ascending."""
        return tuple(sorted(self._recordings))

    def rank(self, rank: int) -> Trace:
        """The trace of one rank only.

        Raises:
            KeyError: The trace has no such rank.
        """
        if rank not in self._recordings:
            raise KeyError(f"the trace has no rank {rank}")
        if len(self._recordings) == 1:
            return self
        with self._connections.asking():  # files must not go while they are opened
            part = self._select_rank(rank)()
        part.places = self.places
        part._whole = self
        part._connections.part_of(self._connections)
        return part

    def opening(self, rank: int) -> Callable[[], Trace]:
        """What opens the trace of one rank in any process that sees its store: small, and fit to be sent there.

        Raises:
            KeyError: The trace has no such rank.
        """
        if rank not in self._recordings:
            raise KeyError(f"the trace has no rank {rank}")
        return self._select_rank(rank)

    def locked(self) -> Trace:
        """The same trace in a database of its own, locked for the SQL of strangers; to be closed before this one."""
        if self._locked is None:
            raise ValueError("a trace that is narrowed, or of another thread, can't be opened again")
        with self._connections.asking():  # files must not go while they are opened
            found = self._locked()
        found.places = self.places
        return found

    @property
    def job(self) -> Trace:
        """The trace of all ranks and steps that this one is a part of; itself if it is whole."""
        return self if self._whole is None else self._whole.job

    @property
    def whole(self) -> Trace:
        """This rank's trace without narrowing, on a connection of its own; itself if it is not narrowed."""
        if not self._views:
            return self
        source = self
        while source._views and source._whole is not None:
            source = source._whole
        clone = self._on_cursor({})
        clone._memo = source._memo
        return clone

    def narrowed(self, views: Mapping[str, str]) -> Trace:
        """The same trace with some tables replaced, each by a query over the tables of `whole`.

        For example `{"kernels": "SELECT * FROM whole.kernels WHERE step = 3"}`. The trace must be of one rank.
        Tables without rows are not replaced: a query over them would be planned with what narrows them, 4 ms each time.
        """
        empty = self._connections.database.empty
        return self._on_cursor({**self._views, **{name: query for name, query in views.items() if name not in empty}})

    def for_thread(self) -> Trace:
        """The same trace on a connection of its own, for another thread; values of `once` are shared."""
        clone = self._on_cursor(self._views)
        clone._memo = self._memo
        return clone

    def _on_cursor(self, views: Mapping[str, str]) -> Trace:
        with self._connections.asking():
            database = self._connections.database
            trace = Trace(database, self._recordings, self._select_rank, self.notes, views, self.places)
        trace._whole = self
        trace._connections.part_of(self._connections)
        return trace

    def once(self, compute: Callable[[Trace], _T]) -> _T:
        """Return `compute(self)`, computed on first use and kept.

        For values that several analyses share. The result must not be changed.
        """
        self._connections.check_open()
        return cast("_T", self._memo.value(compute, self))

    def state(self, compute: Callable[[Trace], _T], value: _T) -> None:
        """Give the value of `once(compute)`, instead of having it computed.

        For what is known of a whole job where only one of its ranks is open.
        """
        self._memo.state(compute, value)

    def forget(self, least: int, kept: int = 0) -> None:
        """Drop values of `once` of at least so many bytes, but for `kept` bytes of those used last.

        They are recomputed when asked for.
        """
        from stepscope.model.process.footprint import footprint, give_back

        self._memo.forget(footprint, least, kept)
        give_back()

    @property
    def large(self) -> bool:
        """Whether it has more events than several questions may be asked about at a time."""
        return sum(recording.events for recording in self.recordings.values()) > SIZES.concurrent_events

    def forget_if_large(self) -> None:
        """Drop large values of `once` of a large trace, between two parts of the only question that is being asked."""
        if self.large:
            self.forget(SIZES.kept_bytes)

    def with_tables(self, **tables: pa.Table) -> Trace:
        """The same trace with additional tables for queries."""
        for name, table in tables.items():
            self._connections.register(name, table)
        return self

    @contextmanager
    def temporary(self, table: pa.Table) -> Iterator[str]:
        """A table that queries can join with, under a name of its own, as long as the context lasts."""
        name = f"temporary_{next(_NUMBERS)}"
        self._connections.register(name, table)
        try:
            yield name
        finally:
            self._connections.unregister(name)

    def limit_memory(self, megabytes: int) -> None:
        """Limit the memory of queries; they spill to disk beyond it."""
        folder = str(spill_folder()).replace("'", "''")
        with self._connections.asking() as connection:
            connection.execute(f"SET temp_directory = '{folder}'")
            connection.execute(f"SET memory_limit = '{megabytes}MB'")

    def sql(self, query: str, parameters: Parameters | None = None) -> pa.Table:
        """The result of a query over the canonical tables, as an Arrow table."""
        with self._connections.asking(query) as connection:
            return connection.sql(query, params=parameters).to_arrow_table()

    def rows(self, query: str, parameters: Parameters | None = None) -> list[dict[str, Any]]:
        """Rows of a query's result as dictionaries. For small results: faster than `sql`, which plans a query twice."""
        with self._connections.asking(query) as connection:
            result = connection.execute(query, parameters)
            names = [column[0] for column in result.description or ()]
            return [dict(zip(names, values, strict=True)) for values in result.fetchall()]

    def batches(self, query: str, parameters: Parameters | None = None, rows: int = 100_000) -> pa.RecordBatchReader:
        """The result of a query in batches. Read it to its end before the next query on this trace."""
        import pyarrow as pa

        with self._connections.asking(query) as connection:
            reader = connection.sql(query, params=parameters).to_arrow_reader(rows)
        return pa.RecordBatchReader.from_batches(reader.schema, self._each(reader, connection))

    def _each(self, reader: pa.RecordBatchReader, connection: duckdb.DuckDBPyConnection) -> Iterator[pa.RecordBatch]:
        while True:
            with self._connections.asking(connection=connection):
                batch = next(reader, None)
            if batch is None:
                return
            yield batch

    def check_reads_only(self, query: str) -> None:
        """Refuse a query that is not a single statement that only reads.

        Raises:
            UserError: It is not.
        """
        from stepscope.model.process.sandbox import check_reads_only

        with self._connections.asking(query) as connection:
            check_reads_only(connection, query)

    def interrupt(self) -> None:
        """Interrupt the running queries of other threads."""
        self._connections.interrupt()

    def columns(
        self, query: str, parameters: Parameters | None = None, *, many: bool = False
    ) -> dict[str, NDArray[Any]]:
        """The result of a query as NumPy arrays by column name.

        Args:
            query: The query.
            parameters: Values for its parameters.
            many: Whether a large trace has so many rows that planning the query twice is worth while.

        Raises:
            ValueError: A column holds nulls, which NumPy integers can't; use COALESCE in the query.
        """
        with self._connections.asking(query) as connection:
            fetched = (fetch_many if many and self._has_many else fetch)(connection, query, parameters)
        for name, values in fetched.items():
            if isinstance(values, np.ma.MaskedArray):
                if np.ma.is_masked(values):
                    raise ValueError(f"column {name} holds nulls")
                fetched[name] = values.data
        return fetched

    @property
    def _has_many(self) -> bool:
        return sum(recording.events for recording in self._recordings.values()) > SIZES.streamed_events

    def scalar(self, query: str, parameters: Parameters | None = None) -> Any:
        """The first value of the first row, or None if there is no row."""
        with self._connections.asking(query) as connection:
            rows = connection.execute(query, parameters).fetchall()
        return rows[0][0] if rows else None

    def table(self, name: str) -> Table:
        """A canonical table, whole.

        Raises:
            KeyError: There is no such table.
        """
        schema = BY_NAME[name]
        columns = ", ".join(f'"{column}"' for column in schema.names)
        return Table.from_arrow(schema, self.sql(f"SELECT {columns} FROM {name}"))

    def close(self) -> None:
        """Release the files; questions of other threads are interrupted, and later ones refused."""
        self._connections.close()
        while self._closing:
            self._closing.pop()()

    @property
    def closed(self) -> bool:
        """Whether it has been closed, or the trace that it is a part of."""
        return self._connections.closed

    def when_closed(self, call: Callable[[], object]) -> None:
        """Register a call to be made when the trace is closed."""
        self._closing.append(call)

    def __enter__(self) -> Trace:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
