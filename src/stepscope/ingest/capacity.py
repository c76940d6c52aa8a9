"""Cores and memory that this process may use."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path


def cores() -> int:
    """Cores that this process may use."""
    with suppress(AttributeError, OSError):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def available_memory() -> int:
    """Memory that may still be used, in bytes; a very large number where the system does not tell."""
    found = [1 << 62]
    with suppress(OSError, ValueError, IndexError), Path("/proc/meminfo").open(encoding="ascii") as lines:
        found += [int(line.split()[1]) << 10 for line in lines if line.startswith("MemAvailable:")]
    with suppress(OSError, ValueError):
        limit, used = (_number(f"/sys/fs/cgroup/memory.{name}") for name in ("max", "current"))
        found.append(max(limit - used, 0))
    return min(found)


def _number(path: str) -> int:
    return int(Path(path).read_text(encoding="ascii"))
