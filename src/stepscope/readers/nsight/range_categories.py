"""Canonical categories of NVTX ranges, by their names."""

from __future__ import annotations

import re
from typing import Final

_STEP: Final = re.compile(r"ProfilerStep\s*#\s*\d+")
_LOADER: Final = re.compile(r"enumerate\(Data(Loader|Pipe)\)|DataLoader.*__next__|_next_data|DataPipe")
_OPERATOR: Final = re.compile(
    r"(aten|c10d|autograd|torch|prims|inductor|quantized|_c10d_functional|vllm|flash_attn)::\w"
)
_MODULE: Final = re.compile(r"nn\.Module: |\{'Module': '")
_GC: Final = re.compile(r"^(python )?gc\b|garbage.?collect", re.IGNORECASE)
#: Calls of the collective library that move data, or launch the calls before them.
_COLLECTIVE_CALL: Final = re.compile(
    r"^NCCL:nccl(AllGather|AllReduce|Broadcast|Bcast|ReduceScatter|Reduce|Send|Recv|AlltoAll|Gather|Scatter|GroupEnd)$"
)


def category(name: str) -> str:
    """The canonical category of a range, by its name without PyTorch's details."""
    if _STEP.match(name):
        return "step"
    if _LOADER.search(name):
        return "dataloader"
    if _OPERATOR.match(name) or _COLLECTIVE_CALL.match(name):
        return "op"
    if _MODULE.match(name):
        return "module"
    return "gc" if _GC.search(name) else "annotation"
