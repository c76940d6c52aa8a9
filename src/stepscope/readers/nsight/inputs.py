"""What recordings of this kind may hold, and how it is recorded."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from stepscope.model.inputs import Input

#: How each kind of input is recorded with Nsight Systems.
INPUTS: Final[Mapping[Input, str]] = {
    "device": "record with --trace=cuda",
    "grids": "record with --trace=cuda",
    "operators": "record with --trace=cuda,nvtx and run the step under torch.autograd.profiler.emit_nvtx()",
    "shapes": "record with --trace=cuda,nvtx under torch.autograd.profiler.emit_nvtx(record_shapes=True)",
    "modules": "record with --trace=cuda,nvtx and annotate with torch.cuda.nvtx.range",
    "calls": "record with --trace=cuda",
    "os_calls": "record with --trace=cuda,nvtx,osrt",
    "loader": "record with --trace=cuda,nvtx and name a range around the wait for data DataLoader",
    "collectives": "record the ranks with --trace=cuda,nvtx",
    "allocations": "record with --cuda-memory-usage=true",
}
