"""Pieces of text in, rows of `parsed` out: one chunk at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from typing import Final, Protocol

import duckdb
import numpy as np
import pyarrow as pa

from stepscope.readers.kineto import parsing
from stepscope.readers.kineto.arguments import argument_views
from stepscope.readers.kineto.framing import Chunk
from stepscope.readers.kineto.mending import Mended, Mender
from stepscope.store.staging import Staging, first_row

#: Phases of events that somebody reads; others are asynchronous intervals, objects, samples and dumps.
_PHASES: Final = frozenset("XBEiIMCstf")


class Lane:
    """A connection with temporary tables of its own, so that one chunk is parsed while another is staged.

    Attributes:
        connection: Holds the chunk as `pieces` (text) and `parsed` (columns, see `sql.parse_sql`).
        source: What `parsed` was made from: a table or a parenthesised query with `i`, `text`, `flat`, `arrow` and
            `args`.
        others: How many rows of each phase are no intervals.
        others_have_args: Whether any of them has arguments, ends of pairs aside.
        chunk: The chunk, until it is staged.
    """

    def __init__(self, staging: Staging) -> None:
        self.connection = staging.connection.cursor()
        self.source = "pieces"
        self.others: dict[str, int] = {}
        self.others_have_args = False
        self.chunk: Chunk | None = None
        self._pieces = pa.table({})
        self._staged: Future[None] | None = None

    def show(self, chunk: Chunk, first: int) -> None:
        """Make a chunk's texts `pieces` and the source, numbered from `first` on."""
        self.chunk = chunk
        self.source = "pieces"
        self._pieces = _text_batches(chunk, first)
        self.connection.register("pieces", self._pieces)

    def rows(self, condition: str) -> str:
        """The rows of the source whose rows in `parsed` fulfil a condition, as a source whose arguments are unknown."""
        if self.source != "pieces":
            # The sign keeps DuckDB 1.5 from leaving the filter to Arrow, which can't filter views of texts.
            wanted = f"SELECT -i AS wanted FROM parsed WHERE {condition}"
            return f"(SELECT s.* FROM {self.source} s SEMI JOIN ({wanted}) ON -s.i = wanted)"
        # A scan of all texts for a handful of them would take longer than what is done with them.
        chosen = self.connection.execute(f"SELECT i FROM parsed WHERE {condition} ORDER BY i").fetchnumpy()["i"]
        texts = self._pieces["text"].take(pa.array(chosen - self._pieces["i"][0].as_py()))
        no = pa.repeat(False, len(texts))
        columns = {"i": pa.array(chosen), "text": texts, "flat": no, "arrow": no}
        self.connection.register("chosen", pa.table({**columns, "args": pa.nulls(len(texts), pa.string())}))
        return "chosen"

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
    """The statement that makes `parsed`, see `parsing.parse_sql`."""

    def __call__(self, source: str, *, exact: bool) -> str:
        """The statement for one source."""


class Decoder:
    """Parses the events of one trace, chunk by chunk, in order; used as a context manager.

    Attributes:
        events: Number of pieces so far, which is also the id of the next one.
        untimed: Intervals without a number as their start.
        endless: Intervals without a number as their duration.
        foreign: Events of a kind that is not read.
        mender: Reads what is no event by itself.
        metadata: Rows (name, pid, tid, arguments) of metadata events.

    Args:
        staging: Where the events go.
        stage: Puts them there.
        parse_sql: Parses them.
        done: Called with each chunk that nobody looks at any more, in a thread of its own.
    """

    def __init__(
        self,
        staging: Staging,
        stage: Stage,
        parse_sql: ParseSql = parsing.parse_sql,
        done: Callable[[Chunk], None] = lambda _: None,
    ) -> None:
        self._staging = staging
        self._stage = stage
        self._parse_sql = parse_sql
        self._done = done
        self._exact = False
        self._lanes = (Lane(staging), Lane(staging))
        self._executor = ThreadPoolExecutor(1, thread_name_prefix="stepscope-staging")
        self.events = 0
        self.untimed = self.endless = self.foreign = 0
        self.mender = Mender(self._are_events)
        self.metadata: list[tuple[str, str, str, str]] = []

    def __enter__(self) -> Decoder:
        self._staging.share_cores(len(self._lanes))
        return self

    def __exit__(self, *_: object) -> None:
        self._executor.shutdown(wait=True)
        self._staging.share_cores(1)

    def add(self, chunk: Chunk) -> None:
        """Parse one chunk, and have it staged while the next one is parsed."""
        lane = self._lanes[0]
        lane.wait()
        first = self.events
        self.events += len(chunk)
        lane.show(chunk, first)
        if chunk.last or self.mender.waiting or not self._parse(lane):
            self._parse_mended(lane, chunk, first)
        lane.submit(self._executor, self._finish_chunk)
        self._lanes = (self._lanes[1], lane)

    def finish(self) -> None:
        """Wait until everything is staged."""
        for lane in self._lanes:
            lane.wait()

    def _finish_chunk(self, lane: Lane) -> None:
        self._count(lane)
        self._stage(lane)
        if "M" in lane.others:
            self.metadata += lane.connection.execute(parsing.metadata_sql(lane.rows("ph = 'M'"))).fetchall()
        lane.connection.unregister("pieces")
        if lane.chunk is not None:
            self._done(lane.chunk)
            lane.chunk = None

    def _count(self, lane: Lane) -> None:
        """Count what is no interval, or lacks something."""
        rows = lane.connection.execute(parsing.CENSUS).fetchall()
        lane.others = {phase: count for phase, is_span, count, _ in rows if not is_span}
        lane.others_have_args = any(args for phase, is_span, _, args in rows if not is_span and phase != "B")
        self.untimed += lane.others.get("X", 0)
        self.endless += sum(count for phase, is_span, count, _ in rows if is_span and phase == "X")
        self.foreign += sum(count for phase, count in lane.others.items() if phase not in _PHASES)

    def _parse(self, lane: Lane) -> bool:
        """Fill `parsed` from the lane's texts; returns False if one of them is not JSON."""
        try:
            lane.connection.execute(self._parse_sql(lane.source, exact=self._exact))
        except (duckdb.Error, UnicodeDecodeError):
            # The message quotes the text, which may be no UTF-8.
            return False
        if not self._exact:
            [inexact] = first_row(lane.connection, parsing.INEXACT)
            if inexact:
                self._exact = True
                lane.connection.execute(self._parse_sql(lane.source, exact=True))
        return True

    def _parse_mended(self, lane: Lane, chunk: Chunk, first: int) -> None:
        """Fill `parsed` from a chunk of which some pieces are not events."""
        connection = lane.connection
        odd = connection.execute(
            "SELECT i - ? AS index, is_json FROM (SELECT i, text, json_valid(text) AS is_json FROM pieces) "
            "WHERE NOT CASE WHEN is_json THEN json_exists(text, '$.ph') ELSE false END ORDER BY i",
            [first],
        ).fetchnumpy()
        mended = self.mender.mend(chunk, first, dict(zip(odd["index"].tolist(), odd["is_json"].tolist(), strict=True)))
        self.events += sum(surplus for _, surplus in mended.shifts)
        connection.register("pieces", _without(_text_batches(chunk, first), mended))
        connection.register("mended", pa.table({"i": pa.array(mended.ids, pa.int64()), "text": _strings(mended.texts)}))
        lane.source = (
            "(SELECT i, text, flat, arrow, args FROM pieces WHERE kept "
            "UNION ALL SELECT i, text, false, false, NULL FROM mended)"
        )
        connection.execute(self._parse_sql(lane.source, exact=True))

    def _are_events(self, texts: Sequence[bytes]) -> list[bool]:
        """Which texts are JSON objects with a phase."""
        if not texts:
            return []
        connection = self._lanes[0].connection
        connection.register("tried", pa.table({"n": np.arange(len(texts)), "text": _strings(texts)}))
        found = connection.execute(
            "SELECT CASE WHEN json_valid(text) THEN json_exists(text, '$.ph') ELSE false END AS ok FROM tried "
            "ORDER BY n"
        ).fetchnumpy()
        connection.unregister("tried")
        good: list[bool] = found["ok"].tolist()
        return good


def _text_batches(chunk: Chunk, first: int) -> pa.Table:
    """The pieces as an Arrow table over the same memory, in batches so that all cores take part."""
    batches = []
    for part in chunk.parts:
        size = len(part)
        text = pa.Array.from_buffers(pa.string(), size, [None, pa.py_buffer(part.offsets), pa.py_buffer(part.text)])
        args = argument_views(part.text, part.args_begin, part.args_length)
        half = max(1, -(-size // 2))
        for low in range(0, size, half):
            rows = text[low : low + half]
            ids = pa.array(np.arange(first + low, first + low + len(rows), dtype=np.int64))
            flat, arrow = (pa.array(values[low : low + half]) for values in (part.flat, part.arrow))
            columns = {"i": ids, "text": rows, "flat": flat, "arrow": arrow, "args": args[low : low + half]}
            batches.append(pa.record_batch(columns))
        first += size
    return pa.Table.from_batches(batches)


def _without(pieces: pa.Table, mended: Mended) -> pa.Table:
    """The pieces, with the ids they get and a column that tells which are used as they are."""
    kept = np.ones(len(pieces), dtype=bool)
    kept[mended.excluded] = False
    if mended.shifts:
        ids = pieces["i"].to_numpy().copy()
        for start, surplus in mended.shifts:
            ids[start:] += surplus
        pieces = pieces.set_column(0, "i", pa.array(ids))
    return pieces.append_column("kept", pa.array(kept))


def _strings(texts: Sequence[bytes]) -> pa.Array:
    """Texts in UTF-8 as Arrow strings; much faster than a list of objects."""
    offsets = np.zeros(len(texts) + 1, dtype=np.int64)
    np.cumsum(np.fromiter(map(len, texts), np.int64, len(texts)), out=offsets[1:])
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(b"".join(texts))]
    return pa.Array.from_buffers(pa.large_string(), len(texts), buffers)
