"""Copies for tests, without a trace."""

from __future__ import annotations

from typing import Any

import numpy as np

from stepscope.signals.copies.transfers import DIRECTIONS, KINDS, CopyTransfers

_NONE = {"op": -1, "wait": -1, "waited": 0, "blocking": False, "track": 0, "device": 0, "step": 0, "thread": 0}


def copies(*rows: dict[str, Any]) -> CopyTransfers:
    """Copies of 1 MiB from pinned memory to the device, but for what is stated of each; calls take 10 ns."""
    whole = []
    for number, stated in enumerate(rows):
        ts = stated.get("ts", 1000 * number)
        row = {
            **_NONE, "event": 10 + number, "ts": ts, "dur": 100, "direction": "HtoD", "bytes": 1 << 20, "src": "pinned",
            "dst": "device", "launch": 50 + number, "called": ts - 20, "returned": ts - 10, **stated,
        }  # fmt: skip
        row["direction"] = DIRECTIONS.index(row["direction"])
        row["src"], row["dst"] = KINDS.index(row["src"]), KINDS.index(row["dst"])
        whole.append(row)
    columns = {name: np.array([row[name] for row in whole]) for name in CopyTransfers.__slots__}
    return CopyTransfers(**columns)
