"""Pieces of text in, rows of `parsed` out: one chunk at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import duckdb
import numpy as np
import pyarrow as pa

from stepscope.readers.kineto import sql
from stepscope.readers.kineto.framing import Chunk
from stepscope.readers.kineto.mending import Mender
from stepscope.store.staging import Staging


class Decoder:
    """Parses the events of one trace, chunk by chunk, in order.

    Attributes:
        events: Number of pieces so far, which is also the id of the next one.
        mender: Reads what is no event by itself.
        metadata: Rows (name, pid, tid, arguments) of metadata events.
    """

    def __init__(self, staging: Staging, stage: Callable[[], None]) -> None:
        """Decode into `staging`; `stage` is called for every chunk, when `pieces` and `parsed` hold it."""
        self._staging = staging
        self._stage = stage
        self._exact = False
        self._first = 0
        self.events = 0
        self.untimed = 0
        self.mender = Mender(self._are_events)
        self.metadata: list[tuple[str, str, str, str]] = []

    def add(self, chunk: Chunk) -> None:
        """Parse one chunk and have it staged."""
        self._first = self.events
        self.events += len(chunk)
        connection = self._staging.connection
        connection.register("pieces", _text_batches(chunk, self._first))
        if chunk.last or self.mender.waiting or not self._parse("pieces"):
            self._parse_mended(chunk)
        self._stage()
        self._note_metadata()
        connection.unregister("pieces")

    def _parse(self, source: str) -> bool:
        """Fill `parsed` from the texts in `source`; returns False if one of them is not JSON."""
        connection = self._staging.connection
        try:
            connection.execute(sql.parse_sql(source, exact=self._exact))
        except duckdb.Error:
            return False
        if not self._exact:
            [inexact] = self._staging.one(
                "SELECT bool_or(ts_us <> floor(ts_us)) AND max(abs(ts_us)) >= ? FROM parsed WHERE isfinite(ts_us)",
                [sql.EXACT_MICROSECONDS],
            )
            if inexact:
                self._exact = True
                connection.execute(sql.parse_sql(source, exact=True))
        return True

    def _parse_mended(self, chunk: Chunk) -> None:
        """Fill `parsed` from a chunk of which some pieces are not events."""
        connection = self._staging.connection
        odd = connection.execute(
            "SELECT i - ? AS index, is_json FROM (SELECT i, text, json_valid(text) AS is_json FROM pieces) "
            "WHERE NOT CASE WHEN is_json THEN json_exists(text, '$.ph') ELSE false END ORDER BY i",
            [self._first],
        ).fetchnumpy()
        mended = self.mender.mend(
            chunk, self._first, dict(zip(odd["index"].tolist(), odd["is_json"].tolist(), strict=True))
        )
        excluded = pa.array([self._first + index for index in mended.excluded], pa.int64())
        shifts = [(self._first + index, surplus) for index, surplus in mended.shifts]
        self.events += sum(surplus for _, surplus in shifts)
        connection.register("excluded", pa.table({"i": excluded}))
        connection.register("mended", pa.table({"i": pa.array(mended.ids, pa.int64()), "text": _strings(mended.texts)}))
        shifted = "".join(f" + CASE WHEN i >= {start} THEN {surplus} ELSE 0 END" for start, surplus in shifts)
        connection.execute(
            sql.parse_sql(
                f"(SELECT i{shifted} AS i, text, flat FROM pieces ANTI JOIN excluded USING (i) "
                "UNION ALL SELECT i, text, false FROM mended)",
                exact=True,
            )
        )
        connection.unregister("excluded")
        connection.unregister("mended")

    def _are_events(self, texts: Sequence[bytes]) -> list[bool]:
        """Which texts are JSON objects with a phase."""
        if not texts:
            return []
        connection = self._staging.connection
        connection.register("tried", pa.table({"n": pa.array(range(len(texts)), pa.int32()), "text": _strings(texts)}))
        rows = connection.execute(
            "SELECT CASE WHEN json_valid(text) THEN json_exists(text, '$.ph') ELSE false END FROM tried ORDER BY n"
        ).fetchall()
        connection.unregister("tried")
        return [bool(row[0]) for row in rows]

    def _note_metadata(self) -> None:
        self.metadata += self._staging.connection.execute(sql.METADATA).fetchall()
        [untimed] = self._staging.one("SELECT count(*) FROM parsed WHERE ph = 'X' AND ts IS NULL")
        self.untimed += untimed


def _text_batches(chunk: Chunk, first: int) -> pa.Table:
    """The pieces as an Arrow table over the same memory, in batches so that all cores take part."""
    batches = []
    for part in chunk.parts:
        size = len(part)
        text = pa.Array.from_buffers(pa.string(), size, [None, pa.py_buffer(part.offsets), pa.py_buffer(part.text)])
        half = max(1, -(-size // 2))
        for low in range(0, size, half):
            rows = text[low : low + half]
            ids = pa.array(np.arange(first + low, first + low + len(rows), dtype=np.int64))
            flat = pa.array(part.flat[low : low + half])
            batches.append(pa.record_batch([ids, rows, flat], names=["i", "text", "flat"]))
        first += size
    return pa.Table.from_batches(batches)


def _strings(texts: Sequence[bytes]) -> pa.Array:
    return pa.array(texts, pa.binary()).cast(pa.string())
