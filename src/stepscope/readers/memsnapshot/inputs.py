"""The kinds of input in these recordings, and how to record each."""

from __future__ import annotations

from typing import Final

from stepscope.model.source import SourceTraits

NAME: Final = "memsnapshot"

#: How each kind of input is recorded with torch.cuda.memory.
SOURCE: Final = SourceTraits(
    inputs={
        "modules": "annotate with torch.profiler.record_function, in PyTorch 2.6 or later",
        "allocations": "call torch.cuda.memory._record_memory_history() at the start of the program",
        "snapshot": "call torch.cuda.memory._dump_snapshot()",
        "history": "call torch.cuda.memory._record_memory_history() at the start of the program",
    },
    likely="cuda",
    marking="",
    marking_elsewhere="",
    timed=False,
    file_name=r"(?P<worker>.+)\.(?P<time>\d{10,20})\.pt\.(?:memory|oom)\.pickle",
)
