"""How what a recording lacks is recorded of the program at hand, and whether it could hold it at all."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from stepscope.ingest.inputs import HOW_TO_RECORD
from stepscope.model.inputs import Input
from stepscope.model.program import Program

#: What only programs of PyTorch have, as far as profilers of other makers see it.
_OF_FRAMEWORKS: Final[frozenset[Input]] = frozenset(("operators", "shapes", "stacks", "loader"))
#: What a setting of the profiler switches on.
_SETTINGS: Final[Mapping[Input, str]] = {
    "shapes": "record_shapes", "stacks": "with_stack", "modules": "with_stack", "allocations": "profile_memory",
}  # fmt: skip
_ACTIVITIES: Final = {"xpu": "XPU", "mtia": "MTIA"}
_RANGES: Final = "record with --trace=cuda,nvtx and mark parts of the program with NVTX ranges (nvtxRangePush)"


def how_to_record(needs: Input, reader: str, program: Program) -> str | None:
    """What to do for an input to be there next time; None if the recording of such a program never has it."""
    how = HOW_TO_RECORD[reader].get(needs)
    # A loop without a recorded loader may have none: only where there is one is more of it worth asking for.
    if how is None or (needs == "loader" and not program.loader):
        return None
    if reader == "nsight" and not program.pytorch:
        return None if needs in _OF_FRAMEWORKS else _RANGES if needs == "modules" else how
    setting = _SETTINGS.get(needs)
    if setting in program.recorded:
        return f"{setting} was on: what it records did not occur while the profiler looked"
    return how.replace("activities=[CPU, CUDA]", f"activities=[CPU, {_ACTIVITIES.get(program.platform, 'CUDA')}]")


def how_to_mark(program: Program) -> str:
    """How steps are marked so that they are recorded; empty for programs whose steps are not the user's to mark."""
    if program.recorder == "nsight":
        code = "torch.cuda.nvtx.range" if program.pytorch else "an NVTX range"
        return f"mark each iteration with {code}"
    if program.recorder == "memsnapshot" or program.kind in ("serving", "diffusion"):
        return ""
    return "call prof.step() after each iteration"
