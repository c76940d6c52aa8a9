"""Small recordings of every source, to be damaged."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import pickle
import sqlite3
import zipfile
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq

from bench.damage.small_ascend import write_database
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
    """One small recording per source and form of it, and the trace of PyTorch in every packing."""
    found = [_simulated(format, folder) for format in WRITERS]
    by_source = {one.source: one for one in found}
    found += [
        _as_tables(by_source["nsight"], folder),
        _as_json(by_source["memsnapshot"]),
        _ascend_database(folder),
    ]
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


def _as_tables(export: Recording, folder: Path) -> Recording:
    """An export of Nsight Systems as a folder with a Parquet file per table."""
    path, files = export.write(folder / "to-tables"), {}
    with closing(sqlite3.connect(path)) as connection:
        for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
            cursor = connection.execute(f'SELECT * FROM "{name}"')
            columns = [column for column, *_ in cursor.description]
            rows = cursor.fetchall()
            out = io.BytesIO()
            pq.write_table(pa.table({column: [row[i] for row in rows] for i, column in enumerate(columns)}), out)
            files[f"report/{name}.parquet"] = out.getvalue()
    return Recording("nsight, Parquet", files, "report")


def _as_json(snapshot: Recording) -> Recording:
    [content] = snapshot.files.values()
    return Recording(
        "memsnapshot, JSON", {"snapshot.json": json.dumps(pickle.loads(content)).encode()}, "snapshot.json"
    )


def _ascend_database(folder: Path) -> Recording:
    """A small database: the simulator writes text."""
    path = write_database(folder / "ascend_pytorch_profiler_0.db")
    return Recording("ascend, database", {path.name: path.read_bytes()}, path.name)
