"""Let queries of users have so much memory and no more."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from types import ModuleType

_LOCK: Final = threading.Lock()
#: Limits to be set again when the last query ends, and how many run.
_before: tuple[int, int] | None = None
_running = 0


@contextmanager
def memory_limited(megabytes: int) -> Iterator[None]:
    """Let this process have so much more memory than it has, where the system can (Linux).

    Functions of DuckDB take some beyond its own limit. Queries that run at once share what the first one got.

    Args:
        megabytes: What the process may use beyond what it has; 0 for all there is.
    """
    if not megabytes or sys.platform != "linux":
        yield
        return
    import resource

    _set_limit(resource, megabytes)
    try:
        yield
    finally:
        _take_back(resource)


def is_out_of_memory(error: BaseException) -> bool:
    """Whether a query failed since it may have no more memory."""
    import duckdb

    if isinstance(error, (MemoryError, duckdb.OutOfMemoryException)):
        return True
    # DuckDB passes what C++ and Arrow throw on as texts of errors of other kinds.
    return any(word in str(error) for word in ("bad_alloc", "allocat", "Out of Memory"))


def _set_limit(resource: ModuleType, megabytes: int) -> None:
    global _before, _running
    with _LOCK:
        _running += 1
        if _running > 1:
            return
        _before = resource.getrlimit(resource.RLIMIT_DATA)
        limit = _data_bytes() + (megabytes << 20)
        if _before[0] != resource.RLIM_INFINITY:
            limit = min(limit, _before[0])
        resource.setrlimit(resource.RLIMIT_DATA, (limit, _before[1]))


def _take_back(resource: ModuleType) -> None:
    global _running
    with _LOCK:
        _running -= 1
        if not _running:
            resource.setrlimit(resource.RLIMIT_DATA, _before)


def _data_bytes() -> int:
    lines = Path("/proc/self/status").read_text(encoding="ascii", errors="replace").splitlines()
    return next(int(line.split()[1]) << 10 for line in lines if line.startswith("VmData:"))
