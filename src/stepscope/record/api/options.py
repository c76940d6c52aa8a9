"""Values of the profiler's options, by the names that both profilers use."""

from __future__ import annotations

from enum import Enum


class ProfilerActivity(Enum):
    """What is recorded; the work of another kind of accelerator is recorded in place of one that is not there."""

    CPU = "CPU"
    CUDA = "CUDA"
    NPU = "NPU"
    XPU = "XPU"
    MTIA = "MTIA"
    HPU = "HPU"
    PrivateUse1 = "PrivateUse1"


class ProfilerAction(Enum):
    """What the profiler does in a step; the last of a cycle's steps ends with its recording being written."""

    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3


class ProfilerLevel(Enum):
    """How much an NPU records: nothing, operators, also runtime and communication, also caches and the AI CPU."""

    Level_none = "Level_none"
    Level0 = "Level0"
    Level1 = "Level1"
    Level2 = "Level2"


class AiCMetrics(Enum):
    """What the counters of an NPU's AI cores count; `AiCoreNone` for nothing."""

    AiCoreNone = "AiCoreNone"
    PipeUtilization = "PipeUtilization"
    ArithmeticUtilization = "ArithmeticUtilization"
    Memory = "Memory"
    MemoryL0 = "MemoryL0"
    MemoryUB = "MemoryUB"
    ResourceConflictRatio = "ResourceConflictRatio"
    L2Cache = "L2Cache"
    MemoryAccess = "MemoryAccess"


class HostSystem(Enum):
    """What torch_npu samples of the host beside an NPU."""

    CPU = "CPU"
    MEM = "MEM"
    DISK = "DISK"
    NETWORK = "NETWORK"
    OSRT = "OSRT"


class ExportType(Enum):
    """How an NPU's recording is written: as text, or as a database."""

    Text = "Text"
    Db = "Db"
