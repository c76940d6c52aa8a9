"""Classify runtime and driver calls of every vendor by name.

Sources: the API references of CUDA (runtime and driver), HIP, Ascend ACL, and Level Zero / Unified Runtime. The
functions take names as recorded, with or without version suffixes such as `_v2` or `_ptsz`.
"""

from __future__ import annotations

import re
from typing import Final

#: Collectives that libraries carry out on threads of the host, as profilers name them; a pattern for SQL, too.
COLLECTIVE_ON_HOST: Final = "^(gloo|mpi):"

_ALLOCATION: Final = re.compile(
    r"""^(cuda|hip) (Malloc|Free|HostAlloc|HostMalloc|HostFree|HostRegister|HostUnregister|ExtMalloc|MemPool)
    |^cuMem (Alloc|Free|HostAlloc|HostRegister|HostUnregister|AddressReserve|AddressFree|Create|Release|Map|Unmap
        |SetAccess|Pool)
    |^hipMem (Alloc|Free|Create|Release|Map|Unmap|AddressReserve|AddressFree|SetAccess)
    |^cudaMem (Create|Release|Map|Unmap)
    |^aclrt (Malloc|Free|MapMem|UnmapMem|ReserveMemAddress|ReleaseMemAddress|HostRegister) |^aclMallocMemInner
    |^rtM (alloc|emAlloc) |^rtFree
    |^zeMem (Alloc|Free) |^ur (USM (Host|Device|Shared) Alloc|USMFree)
    """,
    re.VERBOSE,
)

_WAIT: Final = re.compile(
    r"""Synchronize |^aclrtSynchronize |^rt (Stream|Device|Event) Synchronize
    |^ur (QueueFinish|EventWait$) |^ze (Fence|EventHost|CommandQueue) Synchronize |^synchronize (Stream|Device|$)
    """,
    re.VERBOSE,
)

#: Copies that return only when the data has arrived, whatever the kind of memory.
_BLOCKING_COPY: Final = re.compile(
    r"^(cuda|hip)Memcpy(2D|3D|ToSymbol|FromSymbol|WithStream|Peer|DtoH|HtoD)?(_v\d+)?(_pt[dsz]+)?$"
    r"|^cuMemcpy(2D|3D|DtoH|HtoD|Peer)?(_v\d+)?(_pt[dsz]+)?$|^aclrtMemcpy(2d)?$|^rtMemcpy$"
)

_LAUNCH: Final = re.compile(
    r"launch|^(cuda|hip|cu|aclrt|rt)Mem(cpy|set(?!Access))|^enqueue|^ur Enqueue|CommandListAppend", re.I
)

_EVENT_RECORD: Final = re.compile(r"EventRecord|aclrtRecordEvent|rtEventRecord|event_record|notify_record", re.I)

#: The operator of PyTorch that brings a number to the host, for which it waits for the device.
SCALAR_READ: Final = "aten::_local_scalar_dense"

#: What a synchronising call waits for.
SCOPES: Final = ("device", "stream", "event")

_STREAM_WAIT: Final = re.compile(r"StreamWait|aclrtStreamWaitEvent|waitOnEvent|event_wait|notify_wait", re.I)


def is_allocation(name: str) -> bool:
    """Whether the call takes device or page-locked memory from the driver, or gives it back."""
    return _ALLOCATION.search(name) is not None


def is_synchronisation(name: str) -> bool:
    """Whether the call blocks the host until device work is done. Queries, which return at once, do not."""
    return _WAIT.search(name) is not None and "Query" not in name


def is_blocking_copy(name: str) -> bool:
    """Whether the call copies and returns only when the copy is done."""
    return _BLOCKING_COPY.search(name) is not None


def is_launch(name: str) -> bool:
    """Whether the call puts work on a device queue: a kernel, a graph, a copy or a memset."""
    return _LAUNCH.search(name) is not None


def is_stream_wait(name: str) -> bool:
    """Whether it makes a device queue, not the host, wait: such a call, or the wait itself on the device."""
    return _STREAM_WAIT.search(name) is not None or name == "Stream Wait Event"


def is_event_record(name: str) -> bool:
    """Whether it marks the end of what is in a device queue, so that others can wait for that."""
    return _EVENT_RECORD.search(name) is not None


def wait_scope(name: str) -> str:
    """What a synchronising call waits for, one of `SCOPES`."""
    if "Stream" in name or "Queue" in name:
        return "stream"
    return "event" if "Event" in name or "Fence" in name else "device"


def is_profiler_overhead(name: str) -> bool:
    """Whether an event of category `overhead` is the profiler's own work.

    CUPTI also reports as overhead what the job would pay for without a profiler too: the loading and compiling of
    kernels, and waiting for room in a full command buffer (CUpti_ActivityOverheadKind in CUPTI's API reference).
    """
    return re.search(r"Loading|Command Buffer Full|Driver Compiler", name) is None
