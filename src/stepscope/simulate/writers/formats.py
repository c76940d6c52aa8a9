"""Description of a format: its name, the paths it writes, and the writer of one rank."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from stepscope.simulate.job import SimJob
from stepscope.simulate.writers.base import MakeWriter


@dataclass(frozen=True, slots=True)
class Targets:
    """Where a recording goes: each rank's path, in order of rank, and the truth's; folders exist."""

    ranks: list[Path]
    truth: Path


@dataclass(frozen=True, slots=True)
class JobFormat:
    """A format a simulated job can be written in.

    Attributes:
        name: key of ``WRITERS``.
        summary: one line for a list of formats.
        vendors: vendors of the devices whose work the format can hold.
        device: a job's device if the caller leaves the choice open and the job's own does not fit.
        targets: from a job and the path asked for to where the ranks go; it makes the folders.
        make: makes the writer of one rank.
        text: files are one JSON document each, which defects can damage.
        pipelines: holds what several process groups of one rank do.
    """

    name: str
    summary: str
    vendors: tuple[str, ...]
    device: str
    targets: Callable[[SimJob, Path], Targets]
    make: MakeWriter
    text: bool = False
    pipelines: bool = False


def one_file_per_rank(suffixes: tuple[str, ...], name: str) -> Callable[[SimJob, Path], Targets]:
    """Targets of a format of single files.

    Args:
        suffixes: what the file's name may end with; a path with none of them is a folder.
        name: of a rank's file in a folder, with ``{rank}`` in it.
    """

    def targets(job: SimJob, out: Path) -> Targets:
        suffix = next((suffix for suffix in suffixes if out.name.endswith(suffix)), "")
        if suffix:
            stem = out.with_name(out.name.removesuffix(suffix))
            if job.ranks == 1:
                out.parent.mkdir(parents=True, exist_ok=True)
                return Targets([out], stem.with_name(f"{stem.name}.truth.json"))
            out = stem
        out.mkdir(parents=True, exist_ok=True)
        return Targets([out / name.format(rank=rank) for rank in range(job.ranks)], out / "job.truth.json")

    return targets
