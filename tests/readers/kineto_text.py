"""Kineto traces of a few events, written as text so that they can be broken."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from readers.conformance import check_invariants, open_fresh
from stepscope.model.trace import Trace

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


def names(trace: Trace) -> list[str]:
    """Names of all events, in the order of the recording."""
    return list(trace.sql("SELECT name FROM events ORDER BY id").to_pydict()["name"])


def health(trace: Trace) -> dict[str, int]:
    """Counts of what is wrong with the recording, by code; without what is merely not there."""
    rows = trace.sql("SELECT code, count FROM health WHERE severity <> 'info' OR code LIKE 'events-%'").to_pylist()
    quiet = ("no-device", "events-read")
    return {row["code"]: row["count"] for row in rows if row["code"] not in quiet}
