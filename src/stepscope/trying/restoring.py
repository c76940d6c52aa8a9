"""Put back what a run has written outside of its scratch folder, and remove what it made there."""

from __future__ import annotations

import json
import os
import shutil
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from stepscope.trying.job.guard import LIST


@dataclass(slots=True)
class Restored:
    """What a run wrote outside.

    Attributes:
        back: Files that were written, renamed or removed, and are as they were.
        removed: Files that were made, and are gone.
        lost: Files of which the copy can't be put back, with the copy's path.
    """

    back: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)


def restore(kept: Path) -> Restored:
    """Put files back once all processes of a run have ended.

    Args:
        kept: Folder of copies that its guards filled.
    """
    found = Restored()
    folders: list[Path] = []
    for line in _lines(kept / LIST):
        if "made" in line:
            made = Path(line["made"])
            if line.get("folder"):
                folders.append(made)
            elif made.is_file() or made.is_symlink():
                with suppress(OSError):
                    made.unlink()
                    found.removed.append(str(made))
            continue
        original, copy = Path(line["kept"]), kept / line["copy"]
        try:
            if _is_same(original, copy):
                continue
            original.parent.mkdir(parents=True, exist_ok=True)
            temporary = original.with_name(f".{original.name}.stepscope")
            shutil.copy2(copy, temporary, follow_symlinks=False)
            temporary.replace(original)
            found.back.append(str(original))
        except OSError:
            found.lost.append(f"{original} (its copy is {copy})")
    for folder in sorted(folders, key=lambda one: -len(one.parts)):
        with suppress(OSError):
            folder.rmdir()
    return found


def _is_same(original: Path, copy: Path) -> bool:
    if not os.path.lexists(original):
        return False
    now, then = original.lstat(), copy.lstat()
    return (now.st_mtime_ns, now.st_size, now.st_mode) == (then.st_mtime_ns, then.st_size, then.st_mode)


def _lines(path: Path) -> list[dict[str, str]]:
    found = []
    with suppress(OSError):
        for line in path.read_text(encoding="utf-8").splitlines():
            with suppress(ValueError):
                found.append(json.loads(line))
    return found
