"""The profiler's API under one name for GPUs and NPUs: import it in place of `torch.profiler`."""

from __future__ import annotations

from typing import Any

from stepscope.record.api.backend import Backend, RecordingWarning
from stepscope.record.api.config import ExperimentalConfig
from stepscope.record.api.config import ExperimentalConfig as _ExperimentalConfig
from stepscope.record.api.handlers import tensorboard_trace_handler
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

__all__ = [
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
