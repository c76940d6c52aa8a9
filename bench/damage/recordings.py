"""Small recordings of every source, to be damaged."""

from __future__ import annotations

import bz2
import gzip
import lzma
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from stepscope.simulate import PRESETS, WRITERS, simulate
from stepscope.simulate.devices import DEVICES


@dataclass(frozen=True, slots=True)
class Recording:
    """A recording: its files by their names in a folder, and what of the folder is given to stepscope.

    Attributes:
        source: What it is of.
        files: Content by path.
        given: The path that is opened.
    """

    source: str
    files: dict[str, bytes]
    given: str

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(map(len, self.files.values()))

    def write(self, folder: Path) -> Path:
        """Put the files into a folder; returns what is to be opened."""
        for name, content in self.files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        return folder / self.given


_PACKERS: Final[dict[str, Callable[[bytes], bytes]]] = {
    "gz": lambda data: gzip.compress(data, 5, mtime=0),
    "bz2": bz2.compress,
    "xz": lzma.compress,
}


def recordings(folder: Path) -> list[Recording]:
    """One small recording per source, and the trace of PyTorch in every packing."""
    found = [_simulated(format, folder) for format in WRITERS]
    [plain] = found[0].files.values()
    for suffix, pack in _PACKERS.items():
        name = f"trace.json.{suffix}"
        found.append(Recording(f"kineto, {suffix}", {name: pack(plain)}, name))
    with zipfile.ZipFile(folder / "trace.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("trace.json", plain)
    found.append(Recording("kineto, zip", {"trace.zip": (folder / "trace.zip").read_bytes()}, "trace.zip"))
    return found


def _simulated(format: str, folder: Path) -> Recording:
    chosen = WRITERS[format]
    job = replace(PRESETS["tiny"], layers=1, steps=2)
    if DEVICES[job.device].vendor not in chosen.vendors:
        job = replace(job, device=chosen.device)
    out = folder / format
    [path] = simulate(job, out, format)
    files = [path] if path.is_file() else sorted(file for file in path.rglob("*") if file.is_file())
    contents = {file.relative_to(out).as_posix(): file.read_bytes() for file in files}
    return Recording(format, contents, path.relative_to(out).as_posix())
