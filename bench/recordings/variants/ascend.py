"""Folders and tables of Ascend, to be changed in place: files go, and the order of their rows."""

from __future__ import annotations

import shutil
from pathlib import Path

from bench.recordings.variants.recording import NotApplicableError, Warp, Window


class AscendRecording:
    """A copy of a folder, or of a single file of one."""

    def __init__(self, source: Path, place: Path) -> None:
        """Copy what is to be changed into a folder."""
        self.path = place / source.name
        if source.is_dir():
            shutil.copytree(source, self.path)
        else:
            shutil.copyfile(source, self.path)

    def window(self) -> Window:
        """Not told: a dozen files say it, and a change of one must be a change of all."""
        raise NotApplicableError

    def steps(self) -> list[Window]:
        """Not told, as `window`."""
        raise NotApplicableError

    def warp(self, host: Warp, device: Warp) -> None:
        """Not done, as `window`."""
        del host, device
        raise NotApplicableError

    def cut(self, start: int, end: int) -> None:
        """Not done, as `window`."""
        del start, end
        raise NotApplicableError

    def repeat(self, times: int) -> None:
        """Not done, as `window`."""
        del times
        raise NotApplicableError

    def found(self, *patterns: str) -> list[Path]:
        """Files whose names match; never the only file of a recording."""
        if self.path.is_file():
            raise NotApplicableError
        paths = [path for pattern in patterns for path in sorted(self.path.glob(f"**/{pattern}"))]
        if not paths:
            raise NotApplicableError
        return paths

    def save(self, folder: Path) -> Path:
        """Move it to where it is analysed."""
        return self.path.rename(folder / self.path.name)

    def close(self) -> None:
        """Nothing is open."""
