"""Kineto traces of a few events, written as text so that they can be broken."""

from __future__ import annotations

import json
from pathlib import Path
from types import TracebackType
from typing import Any

import pyarrow as pa

from readers.conformance import check_invariants, open_fresh
from series import WHOLE
from stepscope.model.trace import Trace
from stepscope.readers.kineto.reader import KinetoReader
from stepscope.readers.protocol import Source
from stepscope.store.staging import Staging

HEADER = '{"schemaVersion": 1, "distributedInfo": {"rank": 3, "world_size": 8}, "traceEvents": [\n'


def op(name: str = "aten::mm", ts: float = 10, **more: Any) -> str:
    """An operator as JSON text."""
    event = {"ph": "X", "cat": "cpu_op", "name": name, "pid": 1, "tid": 1, "ts": ts, "dur": 5, **more}
    return json.dumps(event)


def document(*events: str, header: str = HEADER, tail: str = '\n], "traceName": "t"}') -> str:
    """A trace of events given as text."""
    return header + ",\n".join(events) + tail


def opened(content: str | bytes, folder: Path) -> Trace:
    """The trace in `content`, which conforms."""
    path = folder / "trace.json"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    trace = open_fresh(path)
    check_invariants(trace)
    return trace


class Staged:
    """What the reader makes of a file, before anything is worked out of it.

    `events` has ids, names, times since the first event, lengths and arguments; what is read as it is has its name.
    """

    def __init__(self, path: Path, folder: Path) -> None:
        self._staging = Staging(folder, threads=1)
        try:
            recording = KinetoReader().read(Source(path), self._staging, lambda _: None)
            ask = self._staging.connection.execute
            ask("CREATE TABLE health (code VARCHAR, severity VARCHAR, count BIGINT)")
            for line in self._staging.health:
                ask("INSERT INTO health VALUES (?, ?, ?)", [line.code, line.severity, line.count])
            args = f"'{folder}/args-*.parquet'"
            if not list(folder.glob("args-*.parquet")):
                args = "(SELECT NULL::BIGINT AS id, NULL AS args)"
            ask(
                "CREATE VIEW events AS SELECT e.id, name, ts - min(ts) OVER () AS ts, dur, args "
                f"FROM raw_events e JOIN names USING (name_id) LEFT JOIN {args} a ON a.id = e.id"
            )
        except BaseException:
            self._staging.close()
            raise
        self.ranks = (recording.rank or 0,)

    def __enter__(self) -> Staged:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._staging.close()

    def sql(self, query: str) -> pa.Table:
        """As `Trace.sql`."""
        return self._staging.connection.sql(query).to_arrow_table()

    def scalar(self, query: str) -> Any:
        """As `Trace.scalar`."""
        return self._staging.one(query)[0]


def read(content: str | bytes, folder: Path) -> Trace | Staged:
    """What the reader makes of `content`, in a third of the time; a series, whose whole opens the trace and checks it.

    For tests of the series that ask for no more than names, times, lengths, arguments and what the reader counts.
    """
    if WHOLE:
        return opened(content, folder)
    path = folder / "trace.json"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return Staged(path, folder / "staged")


def names(trace: Trace | Staged) -> list[str]:
    """Names of all events, in the order of the recording."""
    return list(trace.sql("SELECT name FROM events ORDER BY id").to_pydict()["name"])


def health(trace: Trace | Staged) -> dict[str, int]:
    """Counts of what is wrong with the recording, by code; without what is merely not there."""
    rows = trace.sql("SELECT code, count FROM health WHERE severity <> 'info' OR code LIKE 'events-%'").to_pylist()
    quiet = ("no-device", "events-read")
    return {row["code"]: row["count"] for row in rows if row["code"] not in quiet}
