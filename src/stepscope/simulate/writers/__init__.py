"""Formats a simulated job can be written in, by name."""

from __future__ import annotations

from stepscope.simulate.writers.ascend.folder import database_writer, text_writer
from stepscope.simulate.writers.ascend.place import folders
from stepscope.simulate.writers.base import MakeWriter, Writer
from stepscope.simulate.writers.formats import JobFormat, Targets, one_file_per_rank
from stepscope.simulate.writers.kineto import KinetoWriter
from stepscope.simulate.writers.nsight import NsightWriter
from stepscope.simulate.writers.nsight_shared import HostWriter, one_file_per_host
from stepscope.simulate.writers.snapshot import SnapshotWriter

WRITERS: dict[str, JobFormat] = {
    format.name: format
    for format in (
        JobFormat(
            "kineto",
            "torch.profiler's Chrome trace (.json, .json.gz)",
            vendors=("nvidia", "amd"),
            device="h100",
            targets=one_file_per_rank((".json.gz", ".json"), "rank{rank}.pt.trace.json"),
            make=KinetoWriter,
            text=True,
            pipelines=True,
        ),
        JobFormat(
            "ascend",
            "Ascend PyTorch Profiler's folder of JSON and CSV files, one per rank",
            vendors=("huawei",),
            device="ascend910b2",
            targets=folders,
            make=text_writer,
        ),
        JobFormat(
            "ascend-db",
            "Ascend PyTorch Profiler's folder of databases, one per rank",
            vendors=("huawei",),
            device="ascend910b2",
            targets=folders,
            make=database_writer,
        ),
        JobFormat(
            "nsight",
            "Nsight Systems' SQLite export, one per rank (.sqlite)",
            vendors=("nvidia",),
            device="h100",
            targets=one_file_per_rank((".sqlite",), "rank{rank}.sqlite"),
            make=NsightWriter,
        ),
        JobFormat(
            "nsight-host",
            "Nsight Systems' SQLite export, one for all ranks of a host (.sqlite)",
            vendors=("nvidia",),
            device="h100",
            targets=one_file_per_host,
            make=HostWriter,
        ),
        JobFormat(
            "memsnapshot",
            "PyTorch's memory snapshot, one per rank (.pickle)",
            vendors=("nvidia", "amd"),
            device="h100",
            targets=one_file_per_rank((".pickle",), "rank{rank}.pickle"),
            make=SnapshotWriter,
            pipelines=True,
        ),
    )
}

__all__ = ["WRITERS", "JobFormat", "MakeWriter", "Targets", "Writer"]
