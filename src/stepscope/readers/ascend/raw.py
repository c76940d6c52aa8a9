"""Hints for raw data of the Ascend profiler, which only its own analysis can read."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from stepscope.language import said

_PARTS: Final = re.compile(r"device_\d+|host")
_MOST_FOLDERS: Final = 1000


def hint(folder: Path) -> str | None:
    """How to convert a folder of raw data (`FRAMEWORK`, or `PROF_*` of hosts and devices); None for other folders."""
    for path in _folders(folder):
        if path.name == "FRAMEWORK" or (path.name.startswith("PROF_") and _is_collected(path)):
            framework = path.parent.name.rpartition("_ascend_")[2] if "_ascend_" in path.parent.name else ""
            if framework == "ms":
                return said(
                    "these are raw data of the Ascend profiler: run "
                    "`mindspore.profiler.profiler.analyse({whole!r})` where MindSpore is installed and give the "
                    "folder again",
                    whole=str(path.parent),
                )
            if path.name != "FRAMEWORK" and framework != "pt" and not (path.parent / "FRAMEWORK").is_dir():
                return said(
                    "these are raw data of the Ascend profiler: run `msprof --export=on --output={whole}` where CANN "
                    "is installed and give the folder again",
                    whole=path,
                )
            whole = path.parent if framework == "pt" else folder
            return said(
                "these are raw data of the Ascend profiler: run "
                "`torch_npu.profiler.profiler.analyse({whole!r})` where torch_npu is installed and give the "
                "folder again",
                whole=str(whole),
            )
    return None


def _is_collected(path: Path) -> bool:
    return any(child.is_dir() and _PARTS.fullmatch(child.name) for child in path.iterdir())


def _folders(top: Path) -> Iterator[Path]:
    """The folder and its subfolders, breadth first, up to the number that a large job has."""
    waiting = [top]
    for seen in range(_MOST_FOLDERS):
        if seen >= len(waiting):
            return
        yield waiting[seen]
        try:
            waiting.extend(child for child in sorted(waiting[seen].iterdir()) if child.is_dir())
        except OSError:
            continue
