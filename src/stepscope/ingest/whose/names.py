"""Ranks, workers and times in the names that profilers give to files and folders."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

#: `{worker}.{time}.pt.trace.json` of torch.profiler, `{worker}_{time}_ascend_pt` of torch_npu and `_ascend_ms` of
#: MindSpore, the defaults of their trace handlers.
_HANDLED: Final = re.compile(
    r"(?P<worker>.+)(?:\.(?P<torch>\d{10,20})\.pt\.trace\.json.*|_(?P<ascend>\d{8,20})_ascend_(?:pt|ms))"
)
#: The handlers' worker where none is given: host name and process id. Numbers in a host name are no ranks.
_PROCESS: Final = re.compile(r".+_\d+")
_RANK: Final = re.compile(r"rank[-_.]?(\d{1,6})(?!\d)", re.IGNORECASE)
_ANY: Final = re.compile(r"(?:rank|worker|local_rank|device|gpu|npu)[-_.]?(\d{1,6})(?!\d)", re.IGNORECASE)


def rank_in(path: Path, above: int) -> int | None:
    """The rank that a name contains, the innermost of the path's last `above` folders and the file."""
    for part in reversed(path.parts[-1 - above :]):
        handled = _HANDLED.fullmatch(part)
        process = handled is not None and _PROCESS.fullmatch(handled["worker"])
        found = (_RANK if process else _ANY).findall(part)
        if found:
            return int(found[0])
    return None


def worker_in(path: Path) -> str | None:
    """The worker that the name of a file or folder contains."""
    found = _HANDLED.fullmatch(path.name)
    return found["worker"] if found else None


def time_in(path: Path) -> int | None:
    """The time that the name of a file or folder contains, in units of its profiler."""
    found = _HANDLED.fullmatch(path.name)
    return int(found["torch"] or found["ascend"]) if found else None
