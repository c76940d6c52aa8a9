"""Hints on how to record a missing input for the program at hand, or that its recordings can't hold it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from stepscope.ingest.inputs import source_of
from stepscope.language import said
from stepscope.model.inputs import Input
from stepscope.model.program import Program

#: What a setting of the profiler switches on.
_SETTINGS: Final[Mapping[Input, str]] = {
    "shapes": "record_shapes", "stacks": "with_stack", "modules": "with_stack", "allocations": "profile_memory",
}  # fmt: skip
_ACTIVITIES: Final = {"xpu": "XPU", "mtia": "MTIA"}


def how_to_record(needs: Input, reader: str, program: Program) -> str | None:
    """How to record an input next time; None if recordings of such a program never have it."""
    how = source_of(reader).how(needs, program.pytorch)
    # A loop without a recorded loader may have none: only where there is one is more of it worth asking for.
    if how is None or (needs == "loader" and not program.loader):
        return None
    setting = _SETTINGS.get(needs)
    if setting in program.recorded:
        return said("{setting} was on: what it records did not occur while the profiler looked", setting=setting)
    return how.replace(
        "activities=[CPU, CUDA]",
        f"activities=[CPU, {_ACTIVITIES.get(program.platform, 'CUDA')}]",
    )


def how_to_mark(program: Program) -> str:
    """How to mark steps for recording; empty for programs whose steps users can't mark."""
    if program.kind in ("serving", "diffusion"):
        return ""
    source = source_of(program.recorder)
    return source.marking if program.pytorch else source.marking_elsewhere
