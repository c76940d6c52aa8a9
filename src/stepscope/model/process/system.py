"""What is different from system to system: functions of the C library, and whether a process lives."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from functools import cache
from typing import Any, Final

#: Rights and answers of Windows' functions (processthreadsapi.h, synchapi.h, winerror.h).
_SYNCHRONIZE: Final = 0x00100000
_WAIT_TIMEOUT: Final = 0x102
_ERROR_ACCESS_DENIED: Final = 5


@cache
def library_function(name: str) -> Callable[..., Any] | None:
    """A function of the C library that this process has loaded; None where there is none of this name."""
    try:
        import ctypes

        return getattr(ctypes.CDLL(None), name, None)
    except (ImportError, OSError, TypeError):  # Windows has no library without a name
        return None


def lives(pid: int) -> bool:
    """Whether there is a process with this number, somebody else's included."""
    if pid <= 0:
        return False
    if sys.platform == "win32":
        return _lives_on_windows(pid)  # there, the signal 0 is Ctrl-C
    try:
        os.kill(pid, 0)
    except PermissionError:
        return True
    except (OSError, OverflowError):
        return False
    return True


def _lives_on_windows(pid: int) -> bool:
    import ctypes

    system: Any = getattr(ctypes, "windll").kernel32  # noqa: B009 - other systems' ctypes has none
    process = system.OpenProcess(_SYNCHRONIZE, False, pid)
    if not process:
        return bool(system.GetLastError() == _ERROR_ACCESS_DENIED)
    try:
        return bool(system.WaitForSingleObject(process, 0) == _WAIT_TIMEOUT)
    finally:
        system.CloseHandle(process)
