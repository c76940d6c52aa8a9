"""What recordings of this kind may hold, and how it is recorded."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from stepscope.model.inputs import Input

#: How each kind of input is recorded with torch.cuda.memory.
INPUTS: Final[Mapping[Input, str]] = {
    "modules": "annotate with torch.profiler.record_function, in PyTorch 2.6 or later",
    "allocations": "call torch.cuda.memory._record_memory_history() at the start of the program",
    "snapshot": "call torch.cuda.memory._dump_snapshot()",
    "history": "call torch.cuda.memory._record_memory_history() at the start of the program",
}
