"""States of a host thread, as logged numbers, and the idle cause that each is charged to."""

from __future__ import annotations

OP = 0
PYTHON = 1
GC = 2
RUNTIME = 3
DATA = 4
SYNC = 5
ALLOC = 6
PROFILER = 7
LAUNCH_LATENCY = 8
DEPENDENCY = 9
UNKNOWN = 10

NAMES: tuple[str, ...] = (
    "host dispatch: op overhead",
    "host dispatch: python",
    "host dispatch: gc",
    "host dispatch: runtime call",
    "data wait",
    "synchronisation",
    "allocation",
    "profiler overhead",
    "launch latency",
    "dependency",
    "unknown",
)

# Host states that refill the device after waiting for it to drain.
REFILL = frozenset((OP, PYTHON, RUNTIME))
