"""Run a query within limits of time and memory, in a thread, so that it can be interrupted at any time."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from queue import Empty, Full, Queue
from time import monotonic
from typing import TYPE_CHECKING, Final

from stepscope.cli.interrupts import INTERRUPTED
from stepscope.language import said
from stepscope.model.errors import StepscopeError, UserError
from stepscope.model.process.leaving import leave
from stepscope.model.process.memory_limit import is_out_of_memory, memory_limited

if TYPE_CHECKING:
    import pyarrow as pa

    from stepscope.model.trace import Trace

#: Batches that wait to be written.
_WAITING: Final = 2
#: How often the waiting thread checks for an interrupt, s.
_LOOK_SECONDS: Final = 0.1
#: A query that does not stop within this time is inside a function that DuckDB can't interrupt: the process ends.
_STOP_SECONDS: Final = 0.7


class Answer:
    """The batches of a query's result, once. Another thread has them computed.

    Attributes:
        schema: The columns.
    """

    def __init__(self, trace: Trace, sql: str, timeout: float) -> None:
        self._trace = trace
        self._timeout = timeout
        self._end = monotonic() + timeout if timeout else None
        self._queue: Queue[pa.Schema | pa.RecordBatch | Exception | None] = Queue(_WAITING)
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, args=(sql,), name="stepscope-query", daemon=True)
        self._thread.start()
        try:
            self.schema: pa.Schema = self._next()
        except BaseException:
            self.stop()
            raise

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        while (batch := self._next()) is not None:
            yield batch

    def stop(self) -> None:
        """End the query, however far it is; if it can't be, end the process."""
        self._stopped.set()
        end = monotonic() + _STOP_SECONDS
        while self._thread.is_alive() and monotonic() < end:
            self._trace.interrupt()
            self._thread.join(_LOOK_SECONDS)
        if self._thread.is_alive():
            self._leave()

    def _next(self) -> pa.Schema | pa.RecordBatch | None:
        while True:
            if self._end is not None and monotonic() > self._end:
                raise self._late()
            try:
                item = self._queue.get(timeout=_LOOK_SECONDS)
            except Empty:
                continue
            if isinstance(item, Exception):
                raise item
            return item

    def _run(self, sql: str) -> None:
        import duckdb

        try:
            batches = self._trace.batches(sql)
            self._put(batches.schema)
            for batch in batches:
                self._put(batch)
            self._put(None)
        except (MemoryError, duckdb.Error) as error:  # raised where the answer is read
            self._put(error)
        except Exception as error:
            # DuckDB's errors arrive with the first rows.
            self._put(duckdb.Error(str(error)))

    def _put(self, item: pa.Schema | pa.RecordBatch | Exception | None) -> None:
        while not self._stopped.is_set():
            with suppress(Full):
                self._queue.put(item, timeout=_LOOK_SECONDS)
                return

    def _late(self) -> StepscopeError:
        return StepscopeError(
            said("the query was stopped after {timeout:g} s", timeout=self._timeout), hint="raise --timeout"
        )

    def _leave(self) -> None:
        error = sys.exc_info()[1]
        late = isinstance(error, StepscopeError)
        leave(2 if late else INTERRUPTED, f"stepscope: {error if late else 'interrupted'}.\n")


@contextmanager
def answer(trace: Trace, sql: str, *, timeout: float, memory_mb: int) -> Iterator[Answer]:
    """The result of a query; database errors become sentences.

    Args:
        trace: The trace to query.
        sql: One statement that only reads.
        timeout: Seconds after which it is stopped; 0 for never.
        memory_mb: What the process may use beyond what it has; 0 for all there is.

    Raises:
        UserError: The query is wrong, is refused, or needs too much.
    """
    import duckdb

    from stepscope.model.process.sandbox import failure

    found: Answer | None = None
    with memory_limited(memory_mb):
        try:
            found = Answer(trace, sql, timeout)
            yield found
        except duckdb.PermissionException as error:
            raise UserError("queries reach no files and no network", hint="only the tables of the trace") from error
        except (MemoryError, duckdb.Error) as error:
            raise (_too_large(memory_mb) if is_out_of_memory(error) else failure(error)) from error
        finally:
            if found is not None:
                found.stop()


def _too_large(memory_mb: int) -> UserError:
    limit = said(" than {memory_mb:,} MB", memory_mb=memory_mb) if memory_mb else said(" than there is")
    return UserError(
        said("the query needs more memory{limit}", limit=limit), hint="ask for less at a time, or raise --memory"
    )
