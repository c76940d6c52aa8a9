"""What stepscope itself wrote about recordings: reports and exports of tables, which name what they were made of."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Final

#: In a folder of exported tables, the file that names their recordings.
EXPORT: Final = "export.json"
#: The line of a report or export that names recordings is one of the first; it holds some kB for each of thousands.
_LINES: Final = 3
_LONGEST: Final = 64 << 20


@dataclass(frozen=True, slots=True)
class Written:
    """A report or an export.

    Attributes:
        path: The file, or the folder of tables.
        recordings: The files and folders that it was made of, where these are still there.
        gone: Those that are not.
    """

    path: Path
    recordings: tuple[Path, ...]
    gone: tuple[str, ...]


def written(path: Path) -> Written:
    """What a report, or a folder of exported tables, was made of; nothing where it does not tell.

    Raises:
        OSError: It can't be read.
    """
    named = _sources(path / EXPORT if path.is_dir() else path)
    # Several ranks or members may lie in one file.
    files = {name: _place(name, path.parent) for name in named}
    there = tuple(dict.fromkeys(place for place in files.values() if place is not None))
    return Written(path, there, tuple(name for name, place in files.items() if place is None))


def _place(name: str, beside: Path) -> Path | None:
    """Where a recording is, which may lie in an archive, or beside what was written about it; None if it is gone."""
    file = name.partition("!")[0]
    places = (Path(name), Path(file), beside / Path(file).name)
    return next((place for place in places if place.exists()), None)


def is_export(folder: Path) -> bool:
    """Whether a folder holds exported tables."""
    return (folder / EXPORT).is_file()


def _sources(path: Path) -> list[str]:
    with path.open(encoding="utf-8", errors="replace") as file:
        lines = [file.readline(_LONGEST) for _ in range(_LINES)]
    line = next((one for one in lines if one.startswith('"source": ')), "")
    try:
        found = json.loads(line.partition(": ")[2].strip().removesuffix(","))
    except (ValueError, RecursionError):
        return []
    if not isinstance(found, list):
        return []
    names = (one.get("source") if isinstance(one, dict) else one for one in found)
    return [name for name in names if isinstance(name, str) and name and "\0" not in name]
