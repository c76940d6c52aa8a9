"""Keep what torch's profiler says about our recordings off the program's standard error, and nothing else."""

from __future__ import annotations

import ctypes
import functools
import os
import re
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

#: `libkineto::Logger::severityLevel_`: messages below it are not written. The levels end at 5.
_LEVEL: Final = "_ZN9libkineto6Logger14severityLevel_E"
_NO_MESSAGES: Final = 6
#: Where its first use takes the level from, and one by which it is seen that it has.
_VARIABLE: Final = "KINETO_LOG_LEVEL"
_TAKEN: Final = 7
#: What its first use says where another thread than the one that imported torch makes it, past the level above.
_FOREIGN: Final = b"External init callback must run in same thread"
_STDERR: Final = 2


@contextmanager
def quiet() -> Iterator[None]:
    """Within, Kineto says nothing; the level is as before behind it, for profilers of the program's own."""
    level = _level()
    if level is None:
        yield
        return
    before, level.value = level.value, _NO_MESSAGES
    try:
        yield
    finally:
        level.value = before


@functools.cache
def _level() -> Any:
    """Kineto's level, looked up once; None where this torch does not show it."""
    name = Path(sys.modules["torch"].__file__ or "").parent / "lib" / "libtorch_cpu.so"
    try:
        return ctypes.c_int.in_dll(ctypes.CDLL(str(name), mode=os.RTLD_NOLOAD), _LEVEL)
    except (OSError, ValueError, AttributeError):
        return None


@contextmanager
def first_use() -> Iterator[None]:
    """Around what may be the first use: Kineto says nothing, and its level is the environment's then, as without us.

    Where the first use is made by another thread than the one that imported torch, it says that, whatever the level.
    """
    with _taken_from_environment(), _without_foreign():
        yield


@contextmanager
def _taken_from_environment() -> Iterator[None]:
    level, given = _level(), os.environ.get(_VARIABLE)
    if level is None or given is None:
        # Its own level lets hardly anything through.
        yield
        return
    before, level.value = level.value, _NO_MESSAGES
    os.environ[_VARIABLE] = str(_TAKEN)
    try:
        yield
    finally:
        os.environ[_VARIABLE] = given
        found = re.match(r"\s*[+-]?\d+", given)
        level.value = before if level.value != _TAKEN else int(found[0]) if found else 0


@contextmanager
def _without_foreign() -> Iterator[None]:
    if threading.get_ident() == threading.main_thread().ident or not hasattr(os, "memfd_create"):
        yield
        return
    try:
        kept, said = os.dup(_STDERR), os.memfd_create("stepscope-stderr")
    except OSError:
        yield
        return
    os.dup2(said, _STDERR)
    try:
        yield
    finally:
        os.dup2(kept, _STDERR)
        os.lseek(said, 0, os.SEEK_SET)
        with os.fdopen(said, "rb") as file:
            for line in file:
                if _FOREIGN not in line:
                    os.write(kept, line)
        os.close(kept)
