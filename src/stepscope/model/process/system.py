"""What is different from system to system: functions of the C library, whether a process lives, and free memory."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, Final

#: Rights and answers of Windows' functions (processthreadsapi.h, synchapi.h, winerror.h).
_SYNCHRONIZE: Final = 0x00100000
_WAIT_TIMEOUT: Final = 0x102
_ERROR_ACCESS_DENIED: Final = 5

#: Devices of a virtual machine, and the one that takes memory from it (virtio 1.2, section 5.5): its number, and the
#: bit of its features which says that the host is told of free memory, VIRTIO_BALLOON_F_PAGE_REPORTING.
_DEVICES: Final = Path("/sys/bus/virtio/devices")
_BALLOON, _REPORTING = 5, 5


def gives_back_large_pages(devices: Path = _DEVICES) -> bool:
    """Whether Linux hands free memory back to the host of this virtual machine, which it does in large pages alone.

    The first use of such a page takes milliseconds, since the host must find memory for it; small ones stay.
    """
    with suppress(OSError, ValueError, IndexError):
        for device in devices.iterdir():
            if int((device / "device").read_text("ascii"), 16) == _BALLOON:
                return (device / "features").read_text("ascii")[_REPORTING] == "1"
    return False


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
