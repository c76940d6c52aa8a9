"""AMD's extended launch call counts threads where all others count blocks."""

from __future__ import annotations

import json
from pathlib import Path

from stepscope.ingest import Options, open_trace


def _event(cat: str, name: str, ts: int, correlation: int, **args: object) -> dict[str, object]:
    where = {"pid": 0, "tid": 0} if cat == "kernel" else {"pid": 1, "tid": 1}
    args = {"correlation": correlation, **args}
    return {"ph": "X", "cat": cat, "name": name, **where, "ts": ts, "dur": 5, "args": args}


def test_grids_are_blocks_whatever_the_launch_counts(tmp_path: Path) -> None:
    shape = {"device": 0, "stream": 0, "block": [256, 1, 1]}
    events = [
        _event("cuda_runtime", "hipLaunchKernel", 0, 1),
        _event("kernel", "Cijk_a", 10, 1, grid=[128, 1, 1], **shape),
        _event("cuda_runtime", "hipExtModuleLaunchKernel", 20, 2),
        _event("kernel", "Cijk_b", 30, 2, grid=[32769, 2, 1], **shape),
    ]
    path = tmp_path / "trace.json"
    path.write_text(json.dumps({"traceEvents": events}), encoding="utf-8")
    with open_trace(path, Options(cache=False)) as trace:
        grids = trace.sql("SELECT name, grid FROM kernels ORDER BY name").to_pylist()
    assert grids == [{"name": "Cijk_a", "grid": [128, 1, 1]}, {"name": "Cijk_b", "grid": [129, 2, 1]}]
