"""The causes of idle time, in the order in which tables list them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

#: Indices into `CAUSES`, of which there are millions.
Causes = NDArray[np.int8]

#: Causes and their details.
CAUSES: tuple[tuple[str, str | None], ...] = (
    ("data_wait", None),
    ("synchronisation", "blocked"),
    ("synchronisation", "refill"),
    ("allocation", None),
    ("host_dispatch", "op_overhead"),
    ("host_dispatch", "python"),
    ("host_dispatch", "gc"),
    ("host_dispatch", "runtime_call"),
    ("host_dispatch", "other"),
    ("host_dispatch", "host_work"),
    ("host_dispatch", "first_use"),
    ("launch_latency", "empty_queue"),
    ("launch_latency", "queued"),
    ("dependency", "event"),
    ("dependency", "other_stream"),
    ("profiler_overhead", None),
    ("unknown", "delayed start"),
    ("unknown", "launch not recorded"),
    ("unknown", "host not recorded"),
    ("unknown", "work not recorded"),
)
(DATA, BLOCKED, REFILL, ALLOCATION, OP, PYTHON, GC, CALL, OTHER, WORK, FIRST, EMPTY, QUEUED, EVENT,
 STREAM, PROFILER, DELAYED, NO_LAUNCH, NO_HOST, UNSEEN) = range(len(CAUSES))  # fmt: skip


def are(*some: int) -> NDArray[np.bool_]:
    """Which causes these are, as a table to look causes up in: quicker than `np.isin`."""
    return np.isin(np.arange(len(CAUSES)), some)
