"""Number of steps for a recording of a wanted size."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from stepscope.simulate.api import simulate
from stepscope.simulate.job import SimJob


def steps_for(job: SimJob, bytes_: int, format: str = "kineto") -> int:
    """Steps after which one rank's uncompressed files reach ``bytes_``; found from two short runs."""
    few, more = 2, 4
    sizes = []
    with TemporaryDirectory() as folder:
        for steps in (few, more):
            paths = simulate(replace(job, steps=steps), Path(folder) / str(steps), format)
            sizes.append(sum(size_of(path) for path in paths) // job.ranks)
    per_step = max(1, (sizes[1] - sizes[0]) // (more - few))
    return max(1, few + -(-(bytes_ - sizes[0]) // per_step))


def size_of(path: Path) -> int:
    """Bytes of a file, or of all files in a folder."""
    if path.is_file():
        return path.stat().st_size
    return sum(file.stat().st_size for file in path.rglob("*") if file.is_file())
