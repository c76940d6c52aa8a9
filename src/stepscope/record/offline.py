"""Parse raw recordings of NPUs, many at a time, with the installed torch_npu."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from stepscope.model.errors import UserError


def parse(folder: Path, processes: int) -> int:
    """Parse the recordings in a folder.

    Args:
        folder: Holds recordings, `*_ascend_pt`, or is one.
        processes: How many are parsed at a time.

    Returns:
        How many there are.

    Raises:
        UserError: There are none, or no torch_npu to parse them.
    """
    found = [folder] if folder.name.endswith("_ascend_pt") else [*folder.rglob("*_ascend_pt")]
    if not found or not folder.is_dir():
        raise UserError(f"{folder} holds no recording of an NPU", hint="give a folder with *_ascend_pt in it")
    if find_spec("torch_npu") is None:
        raise UserError(
            "torch_npu is not installed, which parses these recordings",
            hint="run this where the job ran, or install it",
        )
    import_module("torch_npu.profiler.profiler").analyse(profiler_path=str(folder), max_process_number=processes)
    return len(found)
