"""One chunk on its way from text to staged rows."""

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

#: What stands for a number that is not recorded.
NONE: Final = -(2**63)


@dataclass(frozen=True, slots=True)
class Parsed:
    """What every format is parsed to, beside columns of its own.

    Attributes:
        table: All columns.
        ids: int64[n].
        phase: uint8[n], the character; 0 if it is none or more than one.
        is_span: bool[n], whether it is an interval, or an instant that counts as one.
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
        """The ids of the events of some phases that are no intervals."""
        wanted = np.zeros(256, np.bool_)
        wanted[[ord(phase) for phase in phases]] = True
        return self.ids[wanted[self.phase] & ~self.is_span]


def column(table: pa.Table, name: str) -> NDArray[Any]:
    """A column without nulls."""
    values: NDArray[Any] = table[name].to_numpy()
    return values


class Lane:
    """A chunk that is parsed while another is staged.

    Attributes:
        parsing: Where it is parsed: `pieces` are the texts of its events.
        statements: Where it is staged, by another thread.
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
        """Make the chunk's texts, or what is used instead of them, `pieces`."""
        self.texts = texts
        self.parsing.show("pieces", texts.table())

    def parse(self, parse_sql: ParseSql, *, exact: bool) -> None:
        """Parse the texts.

        Raises:
            duckdb.Error: One of them is not JSON.
        """
        self.exact = exact
        self.parsed = Parsed.of(self.parsing.table(parse_sql("pieces", exact=exact)))

    def choose(self, ids: NDArray[np.int64]) -> None:
        """Make some of the events `chosen`, by ascending ids."""
        self.statements.show("chosen", self.texts.take(self.texts.positions(ids)).table())

    def submit(self, executor: Executor, stage: Stage) -> None:
        """Have the chunk staged in the background."""
        self._staged = executor.submit(stage, self)

    def wait(self) -> None:
        """Until the lane's last chunk is staged; raises what went wrong with it."""
        if self._staged is not None:
            self._staged.result()
            self._staged = None


class Stage(Protocol):
    """What is done with the rows of a chunk; called for every chunk in order, in a thread of its own."""

    def __call__(self, lane: Lane) -> None:
        """Stage the lane's chunk."""


class ParseSql(Protocol):
    """The query that parses events, see `parsing.parse_sql`."""

    def __call__(self, source: str, *, exact: bool) -> str:
        """The query for one source."""
