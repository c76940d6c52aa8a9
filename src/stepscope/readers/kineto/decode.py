"""Parse and stage the events of chunks of text."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Final

import duckdb
import numpy as np
import pyarrow as pa

from stepscope.readers.kineto import parsing
from stepscope.readers.kineto.chunk_buffer import NONE, ChunkBuffer, ParseSql, StageChunk
from stepscope.readers.kineto.framing import Chunk
from stepscope.readers.kineto.mending import Mender
from stepscope.readers.kineto.statements import Statements
from stepscope.readers.kineto.texts import Texts, mended_texts
from stepscope.store.staging import Staging

#: Phases of events that are read; others are asynchronous intervals, objects, samples and dumps.
_PHASES: Final = b"XBEiIMCstf"


class Decoder:
    """Parses the events of one trace, chunk by chunk, in order; used as a context manager.

    Attributes:
        events: Number of segments so far, which is also the id of the next one.
        untimed: Intervals without a number as their start.
        endless: Intervals without a number as their duration.
        foreign: Events of kinds that are not read.
        mender: Repairs segments that are no events.
        metadata: Rows (name, pid, tid, arguments) of metadata events.

    Args:
        staging: The staging area.
        stage: Stages a parsed chunk.
        parse_sql: The query that parses a chunk.
        done: Called with each finished chunk, in another thread.
    """

    def __init__(
        self,
        staging: Staging,
        stage: StageChunk,
        parse_sql: ParseSql = parsing.parse_sql,
        done: Callable[[Chunk], None] = lambda _: None,
    ) -> None:
        self._stage = stage
        self._parse_sql = parse_sql
        self._done = done
        self._exact = False
        # They run concurrently, so each has its own connection.
        self._parsing, staged = (Statements(staging.connect()) for _ in range(2))
        self._buffers = (ChunkBuffer(self._parsing, staged), ChunkBuffer(self._parsing, staged))
        self._executor = ThreadPoolExecutor(1, thread_name_prefix="stepscope-staging")
        self.events = 0
        self.untimed = self.endless = self.foreign = 0
        self.mender = Mender(self._are_events)
        self.metadata: list[tuple[str, str, str, str]] = []

    def __enter__(self) -> Decoder:
        return self

    def __exit__(self, *_: object) -> None:
        self._executor.shutdown(wait=True)

    def add(self, chunk: Chunk, texts: Texts) -> None:
        """Parse one chunk, given its texts, and stage it in the background of parsing the next."""
        buffer = self._buffers[0]
        buffer.wait()
        first = self.events
        self.events += len(chunk)
        buffer.chunk = chunk
        buffer.show(texts.numbered(first))
        if chunk.last or self.mender.waiting or not self._parse(buffer):
            self._parse_mended(buffer, chunk, first)
        buffer.submit(self._executor, self._finish_chunk)
        self._buffers = (self._buffers[1], buffer)

    def finish(self) -> None:
        """Wait until everything is staged."""
        for buffer in self._buffers:
            buffer.wait()

    def _finish_chunk(self, buffer: ChunkBuffer) -> None:
        self._count(buffer)
        self._stage(buffer)
        metadata = buffer.parsed.having("M")
        if metadata.size:
            buffer.choose(metadata)
            self.metadata += buffer.statements.rows(parsing.metadata_sql("chosen"))
        if buffer.chunk is not None:
            self._done(buffer.chunk)
            buffer.chunk = None

    def _count(self, buffer: ChunkBuffer) -> None:
        """Count events that are no intervals or lack a time."""
        parsed = buffer.parsed
        others = np.bincount(parsed.phase[~parsed.is_span], minlength=256)
        self.untimed += int(others[ord("X")])
        self.endless += int(np.count_nonzero(parsed.is_span & (parsed.phase == ord("X")) & (parsed.dur == NONE)))
        self.foreign += int(others.sum() - others[list(_PHASES)].sum())

    def _parse(self, buffer: ChunkBuffer) -> bool:
        """Parse the buffer's texts; returns False if one of them is not JSON."""
        try:
            buffer.parse(self._parse_sql, exact=self._exact)
        except (duckdb.Error, UnicodeDecodeError):
            # The message quotes the text, which may not be UTF-8.
            return False
        if not self._exact and parsing.is_inexact(buffer.parsed.ts):
            self._exact = True
            buffer.parse(self._parse_sql, exact=True)
        return True

    def _parse_mended(self, buffer: ChunkBuffer, chunk: Chunk, first: int) -> None:
        """Parse a chunk in which some segments are no events."""
        odd = {index - first: is_json for index, is_json in self._parsing.rows(parsing.ODD)}
        mended = self.mender.mend(chunk, first, odd)
        self.events += sum(surplus for _, surplus in mended.shifts)
        buffer.show(mended_texts(buffer.texts, mended))
        buffer.parse(self._parse_sql, exact=True)

    def _are_events(self, texts: Sequence[bytes]) -> list[bool]:
        """Whether each text is a JSON object with a phase."""
        if not texts:
            return []
        connection = self._parsing.connection
        connection.register("tried", pa.table({"n": np.arange(len(texts)), "text": _strings(texts)}))
        found = connection.execute(
            "SELECT CASE WHEN json_valid(text) THEN json_exists(text, '$.ph') ELSE false END AS ok FROM tried "
            "ORDER BY n"
        ).fetchnumpy()
        connection.unregister("tried")
        good: list[bool] = found["ok"].tolist()
        return good


def _strings(texts: Sequence[bytes]) -> pa.Array:
    """UTF-8 texts as Arrow strings, much faster than from a list of objects."""
    offsets = np.zeros(len(texts) + 1, dtype=np.int64)
    np.cumsum(np.fromiter(map(len, texts), np.int64, len(texts)), out=offsets[1:])
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(b"".join(texts))]
    return pa.Array.from_buffers(pa.large_string(), len(texts), buffers)
