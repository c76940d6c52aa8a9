"""Which device a trace shows: older versions record it nowhere else."""

from __future__ import annotations

import json
import mmap
from pathlib import Path
from typing import Any, Final

from stepscope.readers.ascend.processes import device_of_process
from stepscope.readers.ascend.summary.plain_csv import BrokenFileError

_HARDWARE: Final = b'"Ascend Hardware"'
_LABELS: Final = b'"process_labels"'
#: A process's label follows its name and those of its threads.
_NEAR: Final = 1 << 18
_EVENT: Final = 1 << 12
#: What may stand before the first bracket of a text: a byte order mark and blanks.
_BEFORE: Final = b"\xef\xbb\xbf \t\r\n"
_HEAD: Final = 64


def device_in(trace: Path) -> int | None:
    """The device of the first process of device work; None if it is not recorded, 0 without such a process.

    The text is searched for this one process, not parsed.

    Raises:
        BrokenFileError: What names the process can't be read, or the file is packed, where no search finds it.
    """
    with trace.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as text:
        if text[:_HEAD].lstrip(_BEFORE)[:1] not in (b"[", b"{"):
            raise BrokenFileError(trace, "is packed or no JSON")
        at = text.find(_HARDWARE)
        if at < 0:
            return 0
        pid = str(_event(trace, text, at, outer=True).get("pid"))
        label = ""
        while (at := text.find(_LABELS, at + 1, at + _NEAR)) >= 0:
            event = _event(trace, text, at)
            if str(event.get("pid")) == pid:
                label = str((event.get("args") or {}).get("labels", ""))
                break
    return device_of_process(pid, label)


def _event(trace: Path, text: mmap.mmap, at: int, outer: bool = False) -> dict[str, Any]:
    """The event around a place, or, if `outer`, around the object of arguments that the place lies in."""
    start = text.rfind(b"{", max(0, at - _EVENT), at)
    if outer and start > 0:
        start = text.rfind(b"{", max(0, at - _EVENT), start)
    try:
        value, _ = json.JSONDecoder().raw_decode(text[max(start, 0) : at + _EVENT].decode("utf-8", "replace"))
    except ValueError as error:
        raise BrokenFileError(trace, "names its processes in no known way") from error
    if start < 0 or not isinstance(value, dict) or "pid" not in value:
        raise BrokenFileError(trace, "names its processes in no known way")
    return value
