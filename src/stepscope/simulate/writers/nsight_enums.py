"""ENUM tables of an export: the values that are written here."""

from __future__ import annotations

from typing import Final

# eventClass
RUNTIME, OS_RUNTIME, OVERHEAD = 0, 27, 103
# eventType of NVTX
PUSH_POP, DOMAIN = 59, 75
# syncType
EVENT_WAIT, STREAM, CONTEXT = 2, 3, 4
# copyKind, by direction
COPY_KINDS: Final = {"HtoD": 1, "DtoH": 2, "DtoD": 8}
PAGEABLE, PINNED, DEVICE = 0, 1, 2
BUFFER_FLUSH: Final = 3
NON_BLOCKING: Final = 2

#: Table, and its rows (id, symbol, label).
ENUMS: Final[dict[str, tuple[tuple[int, str, str], ...]]] = {
    "ENUM_NSYS_EVENT_TYPE": (
        (34, "NvtxMark", "NvtxMark"),
        (39, "NvtxThread", "NvtxThread"),
        (PUSH_POP, "NvtxPushPopRange", "NvtxPushPopRange"),
        (60, "NvtxStartEndRange", "NvtxStartEndRange"),
        (DOMAIN, "NvtxDomainCreate", "NvtxDomainCreate"),
    ),
    "ENUM_NSYS_EVENT_CLASS": (
        (RUNTIME, "TRACE_PROCESS_EVENT_CUDA_RUNTIME", "CUDA runtime"),
        (1, "TRACE_PROCESS_EVENT_CUDA_DRIVER", "CUDA driver"),
        (OS_RUNTIME, "TRACE_PROCESS_EVENT_OS_RUNTIME", "OSRT runtime"),
        (OVERHEAD, "TRACE_PROCESS_EVENT_CUDA_OVERHEAD", "CUDA overhead"),
    ),
    "ENUM_CUDA_MEMCPY_OPER": (
        (0, "CUDA_MEMCPY_KIND_UNKNOWN", "Unknown"),
        (1, "CUDA_MEMCPY_KIND_HTOD", "Host-to-Device"),
        (2, "CUDA_MEMCPY_KIND_DTOH", "Device-to-Host"),
        (8, "CUDA_MEMCPY_KIND_DTOD", "Device-to-Device"),
    ),
    "ENUM_CUDA_MEM_KIND": (
        (PAGEABLE, "CUDA_MEMOPR_MEMORY_KIND_PAGEABLE", "Pageable"),
        (PINNED, "CUDA_MEMOPR_MEMORY_KIND_PINNED", "Pinned"),
        (DEVICE, "CUDA_MEMOPR_MEMORY_KIND_DEVICE", "Device"),
        (4, "CUDA_MEMOPR_MEMORY_KIND_MANAGED", "Managed"),
    ),
    "ENUM_CUDA_DEV_MEM_EVENT_OPER": (
        (0, "CUDA_DEV_MEM_EVENT_OPR_ALLOCATION", "Allocation"),
        (1, "CUDA_DEV_MEM_EVENT_OPR_DEALLOCATION", "Deallocation"),
    ),
    "ENUM_CUPTI_STREAM_TYPE": (
        (1, "CUPTI_ACTIVITY_STREAM_CREATE_FLAG_DEFAULT", "Default stream"),
        (NON_BLOCKING, "CUPTI_ACTIVITY_STREAM_CREATE_FLAG_NON_BLOCKING", "Non-blocking stream"),
        (3, "CUPTI_ACTIVITY_STREAM_CREATE_FLAG_NULL", "Null stream"),
    ),
    "ENUM_CUPTI_SYNC_TYPE": (
        (1, "CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_EVENT_SYNCHRONIZE", "Event sync"),
        (EVENT_WAIT, "CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_WAIT_EVENT", "Stream wait sync"),
        (STREAM, "CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE", "Stream sync"),
        (CONTEXT, "CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_CONTEXT_SYNCHRONIZE", "Context sync"),
    ),
    "ENUM_CUPTI_OVERHEAD_TYPE": (
        (BUFFER_FLUSH, "OVERHEAD_CUPTI_BUFFER_FLUSH", "Buffer flush (Profiler)"),
        (7, "OVERHEAD_LAZY_FUNCTION_LOADING", "Lazy function loading (CUDA)"),
    ),
}  # fmt: skip
