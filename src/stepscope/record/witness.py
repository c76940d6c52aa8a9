"""Tell whether a signal came to the launcher alone, or to its whole process group."""

from __future__ import annotations

import contextlib
import re
import subprocess
import time
from pathlib import Path
from typing import Final

#: Seconds in which a signal reaches all processes of a group; the kernel sends it to one after the other.
_SPREADS_S: Final = 0.05
_PENDING: Final = re.compile(r"^S(?:ig|hd)Pnd:\s*([0-9a-f]+)", re.MULTILINE)


class GroupWitness:
    """A process beside the program that does nothing, with all signals blocked.

    A signal to the group, from a terminal, `kill %1`, a process that ends all of its group or a batch system, stays
    pending there, which Linux shows (proc(5)), and has then reached the program, too; one to the launcher has not.
    Start it with signals blocked. Without Linux or `cat` there is none.
    """

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._start()

    @property
    def is_there(self) -> bool:
        """Whether it can tell anything."""
        return self._process is not None

    def got_too(self, number: int) -> bool:
        """Whether a signal that has just arrived here has reached the whole group."""
        end = time.monotonic() + _SPREADS_S
        while self._process is not None:
            if self._pending() >> (number - 1) & 1:
                # The next signal of this kind is another one.
                self.end()
                self._start()
                return True
            if time.monotonic() > end:
                return False
            time.sleep(0.001)
        return False

    def end(self) -> None:
        """Leave no process behind."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.communicate()

    def _start(self) -> None:
        if not Path("/proc/self/status").exists():
            return
        with contextlib.suppress(OSError):
            # It ends by itself when the launcher does, whose end of the pipe is the only one.
            self._process = subprocess.Popen(
                ["cat"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            )

    def _pending(self) -> int:
        assert self._process is not None
        try:
            status = Path(f"/proc/{self._process.pid}/status").read_text(encoding="ascii", errors="replace")
        except OSError:
            return 0
        found = 0
        for bits in _PENDING.findall(status):
            found |= int(bits, 16)
        return found
