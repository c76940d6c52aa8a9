"""Recordings of one operator, for whoever looks for recordings."""

from __future__ import annotations

import json
from pathlib import Path


def recorded(path: Path, rank: int = 0, ts: int = 1000, ranks: int = 1) -> Path:
    """A file of torch.profiler's form with one operator at `ts` microseconds."""
    event = {"ph": "X", "cat": "cpu_op", "name": "aten::mul", "pid": 1, "tid": 1, "ts": ts, "dur": 50, "args": {}}
    text = {
        "schemaVersion": 1,
        "distributedInfo": {"rank": rank, "world_size": ranks},
        "displayTimeUnit": "ms",
        "baseTimeNanoseconds": 0,
        "traceEvents": [event, {**event, "ts": ts + 100}],
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(text), encoding="utf-8")
    return path
