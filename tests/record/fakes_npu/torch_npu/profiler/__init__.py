from . import profiler
from .profiler import (
    AiCMetrics,
    ExportType,
    HostSystem,
    ProfilerAction,
    ProfilerActivity,
    ProfilerLevel,
    Schedule,
    _ExperimentalConfig,
    _KinetoProfile,
    profile,
    supported_activities,
    tensorboard_trace_handler,
)

__all__ = [
    "AiCMetrics",
    "ExportType",
    "HostSystem",
    "ProfilerAction",
    "ProfilerActivity",
    "ProfilerLevel",
    "Schedule",
    "_ExperimentalConfig",
    "_KinetoProfile",
    "profile",
    "profiler",
    "supported_activities",
    "tensorboard_trace_handler",
]
