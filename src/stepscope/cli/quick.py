"""What keeps the command line quick."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

#: New objects before Python looks for cycles among them.
_OBJECTS: Final = 250_000
#: Options of glibc's `mallopt`: M_ARENA_MAX heaps, few, but enough that threads need not wait for each other;
#: M_TRIM_THRESHOLD bytes are kept, and what is smaller than M_MMAP_THRESHOLD bytes, at most 32 MiB, is of the heap.
_MALLOC: Final = {-8: max(1, (os.cpu_count() or 1) // 2), -1: 128 << 20, -3: 32 << 20}


class _NoPandas:
    """A finder of modules that lets pandas look as if it were not installed.

    Its base class would take 3 ms to import.
    """

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> None:
        del path, target
        if fullname == "pandas":
            raise ModuleNotFoundError("the command line does without pandas", name=fullname)


@contextmanager
def without_pandas() -> Iterator[None]:
    """Keep libraries from importing pandas, unless it is there already.

    PyArrow imports pandas wherever it is installed as soon as it converts anything, to see whether it was given a
    data frame. That takes 0.2 s or more, and no command has a data frame to give.
    """
    finder = _NoPandas()
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)


def without_blas_threads() -> None:
    """Keep NumPy's linear algebra, of which nothing is used here, from starting a thread per core that spins."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def with_few_heaps() -> None:
    """Let threads take memory from the same heaps, which keep some of what they let go of.

    glibc gives each thread a heap of its own, and hands what is free at its end back at once. Memory that the system
    must give page by page costs more than filling it: a quarter of a report's page faults are saved. Arrow's own heap
    would keep 50 MB more.
    """
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
    if sys.platform == "linux":
        import ctypes

        mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
        if mallopt is not None:
            for option, value in _MALLOC.items():
                mallopt(option, value)


def without_collections() -> None:
    """Keep Python from looking for unreachable cycles before there could be many.

    A report makes a hundred thousand objects that stay, most of them by imports, and a few hundred in cycles. Looking
    for those after every seven hundred objects takes 0.08 s.
    """
    gc.set_threshold(_OBJECTS, *gc.get_threshold()[1:])
