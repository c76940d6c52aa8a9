"""Pieces of text in, staged rows out: one chunk at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import duckdb
import numpy as np
import pyarrow as pa

from stepscope.readers.kineto import sql
from stepscope.readers.kineto.framing import Chunk
from stepscope.readers.kineto.names import meaning
from stepscope.readers.kineto.repair import repair
from stepscope.store.staging import Staging

if TYPE_CHECKING:
    from numpy.typing import NDArray

_TABLES: Final = (
    "CREATE TABLE kineto_names (cat VARCHAR, name VARCHAR, name_id INTEGER, category VARCHAR, is_work BOOLEAN, "
    "kind VARCHAR)",
    "CREATE TABLE kineto_tracks (track_key VARCHAR, track INTEGER)",
    'CREATE TABLE kineto_collectives (event BIGINT, on_device BOOLEAN, collective VARCHAR, "group" VARCHAR, '
    "ranks VARCHAR, size INTEGER, elements_in BIGINT, elements_out BIGINT, dtype VARCHAR, seq BIGINT)",
    "CREATE TABLE kineto_flows (kind VARCHAR, key VARCHAR, is_source BOOLEAN, ts BIGINT, pid VARCHAR, tid VARCHAR)",
    "CREATE TABLE kineto_counters (ts BIGINT, pid VARCHAR, name VARCHAR, series VARCHAR, value DOUBLE)",
    "CREATE TABLE kineto_ends (i BIGINT, ph VARCHAR, ts BIGINT, pid VARCHAR, tid VARCHAR, cat VARCHAR, name VARCHAR)",
)

#: An event cut in more than this many pieces is not put together again.
_MAX_JOINED: Final = 256


class Decoder:
    """Stages the events of one trace, chunk by chunk, in order.

    Attributes:
        events: Number of pieces so far, which is also the id of the next one.
        repaired: Events that were read only after their JSON had been mended.
        lost: Stretches of text that could not be read.
        cut: Whether the last event was cut off.
        trailer: Text after the end of the event list; None until the end is found.
        metadata: Rows (name, pid, tid, arguments) of metadata events.
    """

    def __init__(self, staging: Staging) -> None:
        self._staging = staging
        self._exact = False
        self._first = 0
        self.events = 0
        self.repaired = 0
        self.lost = 0
        self.untimed = 0
        self.cut = False
        self.trailer: str | None = None
        self.metadata: list[tuple[str, str, str, str]] = []
        for statement in _TABLES:
            staging.connection.execute(statement)

    def add(self, chunk: Chunk) -> None:
        """Stage one chunk."""
        if self.trailer is not None:
            self.trailer += chunk.text_from(0).decode("utf-8", "replace")
            return
        self._first = self.events
        self.events += len(chunk)
        connection = self._staging.connection
        connection.register("pieces", _text_batches(chunk, self._first))
        if chunk.last or not self._parse("pieces"):
            self._parse_mended(chunk)
        self._stage()
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
        """Fill `parsed` from a chunk of which some pieces are not JSON."""
        connection = self._staging.connection
        bad = connection.execute("SELECT i FROM pieces WHERE NOT json_valid(text) ORDER BY i").fetchnumpy()["i"]
        excluded, ids, texts = self._mend(chunk, bad)
        connection.register("excluded", pa.table({"i": pa.array(excluded, pa.int64())}))
        connection.register("mended", pa.table({"i": pa.array(ids, pa.int64()), "text": pa.array(texts, pa.string())}))
        source = (
            "(SELECT i, text, flat FROM pieces ANTI JOIN excluded USING (i) UNION ALL SELECT i, text, true FROM mended)"
        )
        connection.execute(sql.parse_sql(source, exact=True))
        connection.unregister("excluded")
        connection.unregister("mended")

    def _mend(self, chunk: Chunk, bad: NDArray[np.int64]) -> tuple[list[int], list[int], list[str]]:
        """Read the pieces that are not JSON by themselves.

        Returns:
            Ids of the pieces to leave out, and ids and texts of the events that were found instead. The first event
            of a piece keeps its id; further ones get ids after all others of the chunk.
        """
        excluded: list[int] = []
        ids: list[int] = []
        texts: list[str] = []
        done = -1
        for index in (bad - self._first).tolist():
            if index <= done:
                continue
            done, result = self._join(chunk, index)
            excluded += range(self._first + index, self._first + done + 1)
            for number, text in enumerate(result.events):
                ids.append(self._first + index if number == 0 else self.events)
                self.events += number > 0
                texts.append(text)
            self.lost += result.lost
            self.cut = result.open
            if result.rest is not None:
                following = chunk.text_from(done + 1).decode("utf-8", "replace")
                self.trailer = result.rest + following
                excluded += range(self._first + done + 1, self._first + len(chunk))
                break
            self.repaired += len(result.events)
        return excluded, ids, texts

    def _join(self, chunk: Chunk, index: int) -> tuple[int, Any]:
        """Repair a piece, with the following ones if it was cut inside an event; returns the last index used."""
        first = repair(chunk[index])
        if not first.open:
            return index, first
        last = index
        while last + 1 < len(chunk) and last - index < _MAX_JOINED:
            last += 1
            # The comma that the framer blanked belongs to the text again.
            joined = b",".join(chunk[i] for i in range(index, last + 1))
            result = repair(joined)
            if not result.open:
                return (last, result) if not result.lost and result.events else (index, _given_up(first))
        at_end = last + 1 >= len(chunk)
        return index, first if at_end else _given_up(first)

    def _stage(self) -> None:
        connection = self._staging.connection
        self._intern_names()
        self._intern_tracks()
        for statement in sql.STAGING:
            connection.execute(statement)
        [uncorrelated] = self._staging.one(sql.UNCORRELATED)
        if uncorrelated:
            connection.execute(sql.LAUNCH_ARROWS)
        self._staging.add_args(sql.ARGS)
        self.metadata += connection.execute(sql.METADATA).fetchall()
        [untimed] = self._staging.one("SELECT count(*) FROM parsed WHERE ph = 'X' AND ts IS NULL")
        self.untimed += untimed

    def _intern_names(self) -> None:
        rows = self._staging.connection.execute(sql.NEW_NAMES).fetchall()
        if not rows:
            return
        meanings = [meaning(cat, name) for cat, name in rows]
        self._staging.insert(
            "kineto_names",
            pa.table(
                {
                    "cat": [cat for cat, _ in rows],
                    "name": [name for _, name in rows],
                    "name_id": pa.nulls(len(rows), pa.int32()),
                    "category": [m.category for m in meanings],
                    "is_work": [m.is_work for m in meanings],
                    "kind": pa.array([m.kind for m in meanings], pa.string()),
                }
            ),
        )
        self._staging.intern_names("kineto_names")
        self._staging.connection.execute(
            "UPDATE kineto_names SET name_id = names.name_id FROM names "
            "WHERE kineto_names.name_id IS NULL AND kineto_names.name = names.name"
        )

    def _intern_tracks(self) -> None:
        connection = self._staging.connection
        for (key,) in connection.execute(sql.NEW_TRACKS).fetchall():
            kind, first, second = key.split("|", 2)
            if kind == "device":
                number = int(first) if first.lstrip("-").isdigit() and len(first) < 9 else None
                track = self._staging.track("device", device=number, stream=second)
            else:
                track = self._staging.track("host", process=first, thread=second)
            connection.execute("INSERT INTO kineto_tracks VALUES (?, ?)", [key, track])


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


def _given_up(result: Any) -> Any:
    result.open = False
    result.lost += 1
    return result
