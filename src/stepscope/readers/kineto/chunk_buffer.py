"""A slot for one chunk while it is parsed and staged."""

from __future__ import annotations

from concurrent.futures import Executor, Future
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Protocol

import numpy as np
import pyarrow as pa

from stepscope.readers.kineto.framing import Chunk
from stepscope.readers.kineto.statements import Statements
from stepscope.readers.kineto.texts import Texts

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: Stands for a number that is not recorded.
NONE: Final = -(2**63)


@dataclass(frozen=True, slots=True)
class Parsed:
    """Parsed events: columns common to all formats.

    Attributes:
        table: All columns.
        ids: int64[n], event ids.
        phase: uint8[n], the phase's character; 0 if it is not exactly one.
        is_span: bool[n], whether it is an interval, or an instant treated as one.
        ts: int64[n], ns; NONE if there is no such number.
        dur: int64[n], ns; NONE if there is no such number.
    """

    table: pa.Table
    ids: NDArray[np.int64]
    phase: NDArray[np.uint8]
    is_span: NDArray[np.bool_]
    ts: NDArray[np.int64]
    dur: NDArray[np.int64]

    @classmethod
    def of(cls, table: pa.Table) -> Parsed:
        """From the columns `i`, `phase`, `is_span`, `ts` and `dur`."""
        return cls(table, *(column(table, name) for name in ("i", "phase", "is_span", "ts", "dur")))

    def having(self, phases: str) -> NDArray[np.int64]:
        """Ids of events with one of these phases that are no intervals."""
        wanted = np.zeros(256, np.bool_)
        wanted[[ord(phase) for phase in phases]] = True
        return self.ids[wanted[self.phase] & ~self.is_span]


def column(table: pa.Table, name: str) -> NDArray[Any]:
    """A column without nulls."""
    values: NDArray[Any] = table[name].to_numpy()
    return values


class ChunkBuffer:
    """A chunk that is parsed while another one is staged (double buffering).

    Attributes:
        parsing: Statements that parse it; `segments` are the texts of its events.
        statements: Statements that stage it, in another thread.
        chunk: The chunk, until it is staged.
        texts: Its events.
        exact: Whether start times were read digit by digit.
        parsed: Its columns, by `ParseSql`.
    """

    def __init__(self, parsing: Statements, statements: Statements) -> None:
        self.parsing = parsing
        self.statements = statements
        self.chunk: Chunk | None = None
        self.exact = False
        self.texts: Texts
        self.parsed: Parsed
        self._staged: Future[None] | None = None

    def show(self, texts: Texts) -> None:
        """Register the chunk's texts, or their replacements, as `segments`."""
        self.texts = texts
        self.parsing.show("segments", texts.table())

    def parse(self, parse_sql: ParseSql, *, exact: bool) -> None:
        """Parse the texts.

        Raises:
            duckdb.Error: One of them is not JSON.
        """
        self.exact = exact
        self.parsed = Parsed.of(self.parsing.table(parse_sql("segments", exact=exact)))

    def choose(self, ids: NDArray[np.int64]) -> None:
        """Register the events with these ascending ids as `chosen`."""
        self.statements.show("chosen", self.texts.take(self.texts.positions(ids)).table())

    def submit(self, executor: Executor, stage: StageChunk) -> None:
        """Stage the chunk in the background."""
        self._staged = executor.submit(stage, self)

    def wait(self) -> None:
        """Wait until the last chunk is staged; re-raises its error."""
        if self._staged is not None:
            self._staged.result()
            self._staged = None


class StageChunk(Protocol):
    """Stages the rows of a chunk; called for every chunk in order, in a background thread."""

    def __call__(self, buffer: ChunkBuffer) -> None:
        """Stage the buffer's chunk."""


class ParseSql(Protocol):
    """The query that parses events, see `parsing.parse_sql`."""

    def __call__(self, source: str, *, exact: bool) -> str:
        """The query for one source."""
