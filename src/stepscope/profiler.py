"""The profiler's API under one name for GPUs and NPUs: import it in place of `torch.profiler`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from stepscope.record.api import dynamic_profile
from stepscope.record.api.backend import Backend, RecordingWarning, say
from stepscope.record.api.config import ExperimentalConfig
from stepscope.record.api.config import ExperimentalConfig as _ExperimentalConfig
from stepscope.record.api.handlers import tensorboard_trace_handler
from stepscope.record.api.mstx import mstx
from stepscope.record.api.options import (
    AiCMetrics,
    ExportType,
    HostSystem,
    ProfilerAction,
    ProfilerActivity,
    ProfilerLevel,
)
from stepscope.record.api.profile import _KinetoProfile, profile
from stepscope.record.api.schedules import schedule
from stepscope.record.offline import parse, raw_recordings

#: What is PyTorch's own on every device; looked up when it is used, since importing torch takes seconds.
_OF_TORCH: Final = ("DeviceType", "ExecutionTraceObserver", "kineto_available", "record_function")

__all__ = [
    *_OF_TORCH,
    "AiCMetrics",
    "ExperimentalConfig",
    "ExportType",
    "HostSystem",
    "ProfilerAction",
    "ProfilerActivity",
    "ProfilerLevel",
    "RecordingWarning",
    "_ExperimentalConfig",
    "_KinetoProfile",
    "analyse",
    "dynamic_profile",
    "mstx",
    "profile",
    "schedule",
    "supported_activities",
    "supported_ai_core_metrics",
    "supported_export_type",
    "supported_profiler_level",
    "tensorboard_trace_handler",
]


def supported_activities() -> set[ProfilerActivity]:
    """The activities that can be recorded on this machine."""
    return Backend.installed().supported()


def supported_profiler_level() -> set[ProfilerLevel]:
    """The levels of detail of this machine's NPU; empty without one."""
    return _of_npu(ProfilerLevel) - {ProfilerLevel.Level_none}


def supported_ai_core_metrics() -> set[AiCMetrics]:
    """What the counters of this machine's AI cores can count; empty without an NPU."""
    return _of_npu(AiCMetrics) - {AiCMetrics.AiCoreNone}


def supported_export_type() -> set[ExportType]:
    """How this machine's NPU writes recordings; empty without one."""
    return _of_npu(ExportType)


def _of_npu(values: Any) -> set[Any]:
    backend = Backend.installed()
    native = getattr(backend.module, values.__name__, None) if backend.kind == "npu" else None
    return {one for one in values if hasattr(native, one.name)}


def analyse(
    profiler_path: str, max_process_number: int | None = None, export_type: str | Sequence[Any] | None = None
) -> None:
    """Parse the raw recordings of NPUs in a folder, with torch_npu; those that have been parsed, too.

    Args:
        profiler_path: Holds recordings, or is one.
        max_process_number: How many processes parse; half the cores if not given.
        export_type: `text`, `db` or `ExportType`, or several; what the recording was made for if not given.

    Raises:
        UserError: There are none, or nothing is installed that parses them.
    """
    folder = Path(profiler_path)
    if Backend.installed().kind == "torch" and folder.is_dir() and not raw_recordings(folder.absolute()):
        say("analyse does nothing: recordings of torch.profiler need no parsing")
        return
    listed = [export_type] if export_type is None or isinstance(export_type, (str, ExportType)) else [*export_type]
    names = [one.name.lower() if isinstance(one, ExportType) else str(one) for one in listed if one is not None]
    cores = os.cpu_count() or 1
    done = parse(folder, min(max_process_number or max(1, cores // 2), cores), names, again=True)
    for one in done.failed:
        say(f"{one} could not be parsed; see above what its parser said")


def __getattr__(name: str) -> Any:
    """What PyTorch's profiler has under this name, or the one that is installed for these devices."""
    if name.startswith("_"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    backend = Backend.installed()
    for home in (import_module("torch.profiler"), backend.module):
        if hasattr(home, name):
            return getattr(home, name)
    raise AttributeError(f"neither stepscope.profiler nor {backend.module.__name__}, as installed, has {name}")
