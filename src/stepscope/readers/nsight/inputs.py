"""The kinds of input in these recordings, and how to record each."""

from __future__ import annotations

from typing import Final

from stepscope.model.source import SourceTraits

NAME: Final = "nsight"

#: How each kind of input is recorded with Nsight Systems.
SOURCE: Final = SourceTraits(
    inputs={
        "device": "record with --trace=cuda",
        "grids": "record with --trace=cuda",
        "operators": "record with --trace=cuda,nvtx and run the step under torch.autograd.profiler.emit_nvtx()",
        "shapes": "record with --trace=cuda,nvtx under torch.autograd.profiler.emit_nvtx(record_shapes=True)",
        "modules": "record with --trace=cuda,nvtx and annotate with torch.cuda.nvtx.range",
        "calls": "record with --trace=cuda",
        "os_calls": "record with --trace=cuda,nvtx,osrt",
        "switches": "record with --cpuctxsw=process-tree",
        "kernel_counters": "give what ncu --csv wrote together with the recording",
        "device_counters": "record with --gpu-metrics-devices=all",
        "loader": "record with --trace=cuda,nvtx and name a range around the wait for data DataLoader",
        "collectives": "record the ranks with --trace=cuda,nvtx",
        "allocations": "record with --cuda-memory-usage=true",
    },
    # Only programs of PyTorch have these, as far as this profiler sees them.
    elsewhere={
        "operators": None,
        "shapes": None,
        "stacks": None,
        "loader": None,
        "modules": "record with --trace=cuda,nvtx and mark parts of the program with NVTX ranges (nvtxRangePush)",
    },
    # It is not part of a framework, as the others are.
    framework="unknown",
    likely="cuda",
    profiler="Nsight Systems",
    marking="mark each iteration with torch.cuda.nvtx.range",
    marking_elsewhere="mark each iteration with an NVTX range",
)
