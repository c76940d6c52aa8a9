"""Chrome traces of other profilers than PyTorch's, whose categories tell less: lanes, names and arguments do."""

from __future__ import annotations

from collections.abc import Sequence

from stepscope.readers.kineto.others.onnxruntime import add_onnxruntime, is_of_onnxruntime
from stepscope.readers.kineto.others.rocprof import add_rocprof
from stepscope.readers.kineto.others.xla import add_xla
from stepscope.readers.kineto.others.xla_host import add_xla_host
from stepscope.store.staging import Staging


def add_others(staging: Staging, metadata: Sequence[tuple[str, str, str, str]]) -> str | None:
    """Take what such profilers recorded for what it is; metadata are names of processes and threads, as recorded.

    Returns:
        None if PyTorch's profiler wrote it, or something else did that is not known here. Else where operators ran:
        `cpu`, what drives the device, or nothing where that is not told.
    """
    by_lanes = add_xla(staging, metadata) or add_rocprof(staging, metadata)
    host = add_xla_host(staging, metadata)
    if host is not None:
        return host
    if is_of_onnxruntime(staging):
        return add_onnxruntime(staging)
    return "" if by_lanes else None
