"""Why a run showed too little, in a phrase: from its exit status and the end of what it wrote."""

from __future__ import annotations

import re
import signal
from typing import Final

from stepscope.language import said

#: Last lines of tracebacks: a class of exception, perhaps with its module, and what it says.
_EXCEPTION: Final = re.compile(r"^(?:\[rank\d+\]:\s*)?((?:[\w.]+\.)?\w*(?:Error|Exception|Interrupt|Exit)\b.*)$")
_MEMORY: Final = ("OutOfMemoryError", "out of memory", "MemoryError", "can't allocate memory", "DefaultCPUAllocator")
#: Errors of launchers, which only say that another process failed.
_LAUNCHERS: Final = ("ChildFailedError", "CalledProcessError", "ProcessExitedException")
_LENGTH: Final = 160
#: Why a run showed too little that was well, but ended because the one beside it was not.
CUT: Final = said("cut short")


def reason_of(output: str, status: int | None, steps: int, hung_s: float | None) -> str:
    """Why a run showed too few steps.

    Args:
        output: The end of what it wrote.
        status: Its exit status; negative for a signal, None if it was ended from outside.
        steps: Steps that were timed.
        hung_s: Seconds after which it was taken to hang; None if it was not.
    """
    last = _exception(output)
    if any(one in output for one in _MEMORY) and status != 0:
        return said("runs out of memory: {last}", last=last) if last else said("runs out of memory")
    if hung_s is not None:
        return said("hangs: {steps} steps were timed in {hung_s:.0f} s", steps=steps, hung_s=hung_s)
    if status is None:
        return CUT
    if status < 0:
        name = signal.Signals(-status).name if -status in set(signal.Signals) else str(-status)
        if name == "SIGKILL":
            return said("killed by {name}, as the system does when memory runs out", name=name)
        return said("killed by {name}", name=name)
    if status and last:
        return said("ends with status {status}: {last}", status=status, last=last)
    if status:
        return said("ends with status {status}", status=status)
    if not steps:
        return said("no step was found before the program ended")
    return said("the program ended after {steps} timed steps", steps=steps)


def _exception(output: str) -> str:
    found = [match[1].strip() for line in output.splitlines() if (match := _EXCEPTION.match(line.strip()))]
    own = [one for one in found if not any(launcher in one for launcher in _LAUNCHERS)]
    last = (own or found or [""])[-1]
    return last if len(last) <= _LENGTH else f"{last[: _LENGTH - 3]}..."
