"""Formats a simulated job can be written in, by name."""

from __future__ import annotations

from stepscope.simulate.writers.base import MakeWriter, Writer
from stepscope.simulate.writers.formats import Format, Targets, one_file_per_rank
from stepscope.simulate.writers.kineto import KinetoWriter

WRITERS: dict[str, Format] = {
    format.name: format
    for format in (
        Format(
            "kineto",
            "torch.profiler's Chrome trace (.json, .json.gz)",
            vendors=("nvidia", "amd"),
            device="h100",
            targets=one_file_per_rank((".json.gz", ".json"), "rank{rank}.pt.trace.json"),
            make=KinetoWriter,
            text=True,
        ),
    )
}

__all__ = ["WRITERS", "Format", "MakeWriter", "Targets", "Writer"]
