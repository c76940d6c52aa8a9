"""Device activity, device memory and waits as rows of an export."""

from __future__ import annotations

import re
from typing import Any

from stepscope.simulate.records import ActivityRecord, CallRecord, Segment
from stepscope.simulate.specs import KernelSpec
from stepscope.simulate.writers import nsight_enums as enums
from stepscope.simulate.writers.export_database import ExportDatabase
from stepscope.simulate.writers.nsight_identity import Identity

# Nodes of an executable graph are numbered from here on.
_FIRST_NODE = 4_294_967_296
_GRAPH = 1
_NO_STREAM = _NO_EVENT = 4_294_967_295
_SYNC_TYPES = {
    "cudaStreamWaitEvent": enums.EVENT_WAIT,
    "cudaStreamSynchronize": enums.STREAM,
    "cudaDeviceSynchronize": enums.CONTEXT,
}
_MEMORY_KINDS = {"Pageable": enums.PAGEABLE, "Pinned": enums.PINNED, "Device": enums.DEVICE}
_LAST_NAME = re.compile(r"(\w+)\s*(?:<|\(|$)")


class DeviceRows:
    """Adds the rows of one rank's device."""

    def __init__(self, database: ExportDatabase, who: Identity) -> None:
        self._database = database
        self._who = who
        self._kernels: dict[KernelSpec, tuple[Any, ...]] = {}
        self._grids = 0
        self._events: dict[int, int] = {}
        self._marks = 0
        self._table = database.table

    def activity(self, r: ActivityRecord) -> None:
        """A kernel, collective, copy or memset."""
        queue = self._queue(r.start, r.end, r.queue, r.correlation, 0)
        node = _FIRST_NODE + r.node if r.node else None
        if r.spec.kind == "copy":
            ends = [_MEMORY_KINDS[end] for end in re.findall(r"\w+", r.spec.name)[2:]]
            kind = enums.COPY_KINDS[r.spec.direction]
            rest = (r.spec.bytes, kind, None, *ends, None, None, None, None, None, node, None, 1)
            self._table("CUPTI_ACTIVITY_KIND_MEMCPY").append(queue + rest)
        elif r.spec.kind == "set":
            self._table("CUPTI_ACTIVITY_KIND_MEMSET").append((*queue, 0, r.spec.bytes, node, enums.DEVICE))
        else:
            before, after = self._kernel(r.spec)
            self._grids += 1
            graph = (None, None, None, _GRAPH if node else None)
            self._table("CUPTI_ACTIVITY_KIND_KERNEL").append(
                (*queue, *before, self._grids, None, node, 0, *graph, *after)
            )

    def _queue(self, start: int, end: int, index: int, correlation: int, green: int | None) -> tuple[Any, ...]:
        who = self._who
        stream = who.streams[index] if index >= 0 else _NO_STREAM
        return (
            start + who.shift, end + who.shift, who.index, who.context, green, stream, correlation, who.process
        )  # fmt: skip

    def _kernel(self, spec: KernelSpec) -> tuple[Any, ...]:
        """Constant columns of a kernel's rows: those before and after the numbers of grid and node."""
        parts = self._kernels.get(spec)
        if parts is None:
            text = self._database.text
            names = (text(spec.name), text(short_name(spec.name)), None)
            launch = (1, 0, spec.registers, *spec.grid, *spec.block, 0, spec.shared_bytes, 0, 0)
            clusters = (1, 1, 1, 0, 0, 0)
            parts = self._kernels[spec] = ((*names, *launch), (*clusters, None, "[]"))
        return parts

    def call(self, r: CallRecord) -> None:
        """Effects of a call on queues: waits, and recorded events."""
        kind = _SYNC_TYPES.get(r.name)
        if kind is not None:
            event = self._events.get(r.event, _NO_EVENT) if r.event >= 0 else _NO_EVENT
            queue = self._queue(r.start, r.end, r.queue, r.correlation, None)
            mark = event if r.event >= 0 else 0
            self._table("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION").append((*queue, None, kind, event, mark))
        elif r.name == "cudaEventRecord":
            self._marks += 1
            self._events[r.event] = self._marks
            queue = self._queue(r.start, r.end, r.queue, r.correlation, None)[2:]
            self._table("CUPTI_ACTIVITY_KIND_CUDA_EVENT").append((0, *queue, self._marks, self._marks))

    def segment(self, r: Segment, correlation: int) -> None:
        """Memory taken from the driver (0) or given back (1)."""
        who = self._who
        operation = 0 if r.bytes > 0 else 1
        place = (r.ts + who.shift, who.process, who.index, who.context, r.address, 0)
        rest = (abs(r.bytes), enums.DEVICE, operation, None, correlation, None)
        self._table("CUDA_GPU_MEMORY_USAGE_EVENTS").append((*place, *rest, *[None] * 6))


def short_name(name: str) -> str:
    """A kernel's name without its namespaces, template arguments and parameters."""
    plain = name.replace("(anonymous namespace)::", "").removeprefix("void ")
    head = re.split(r"[<(]", plain, maxsplit=1)[0]
    found = _LAST_NAME.search(head.rpartition("::")[2] or head)
    return found[1] if found else name
