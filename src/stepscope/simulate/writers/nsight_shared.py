"""One Nsight Systems export for all ranks of a host, as of a launcher that was recorded with its processes."""

from __future__ import annotations

from pathlib import Path

from stepscope.simulate.job import SimJob
from stepscope.simulate.writers.export_database import ExportDatabase
from stepscope.simulate.writers.formats import Targets
from stepscope.simulate.writers.nsight import NsightWriter, part_of
from stepscope.simulate.writers.nsight_schema import SCHEMA


class HostWriter:
    """One rank in the export of all ranks of its host; the last of them puts their parts together."""

    def __init__(self, job: SimJob, rank: int, out: Path) -> None:
        first = rank - rank % job.ranks_per_host
        self._inner = NsightWriter(job, rank, out, session=first)
        self.paths = self._inner.paths
        self.write = self._inner.write
        self.abandon = self._inner.abandon
        self._out = out
        last = min(first + job.ranks_per_host, job.ranks) - 1
        self._parts = [part_of(out, other) for other in range(first, rank + 1)] if rank == last else []

    def close(self) -> dict[str, int]:
        """Finish this rank's part, and the export if it is the last."""
        counts = self._inner.close()
        if self._parts:
            whole = ExportDatabase(self._parts[0], SCHEMA)
            for part in self._parts[1:]:
                whole.merge(part)
                part.unlink()
            whole.close()
            self._parts[0].replace(self._out)
        return counts


def one_file_per_host(job: SimJob, out: Path) -> Targets:
    """The same path for all ranks of a host: ``out`` if it is a file and there is one host, else files in a folder."""
    if out.suffix == ".sqlite":
        if job.ranks <= job.ranks_per_host:
            out.parent.mkdir(parents=True, exist_ok=True)
            return Targets([out] * job.ranks, out.with_suffix(".truth.json"))
        out = out.with_suffix("")
    out.mkdir(parents=True, exist_ok=True)
    hosts = [rank // job.ranks_per_host for rank in range(job.ranks)]
    return Targets([out / f"host{host}.sqlite" for host in hosts], out / "job.truth.json")
