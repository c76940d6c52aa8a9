"""Records as the text of trace events.

Everything that repeats (names, launch dimensions, shapes) is formatted once and kept by identity of its
description; per event only times and numbers are put in between. Times are µs with three decimals, cut from
the digits of integer ns so that none is rounded.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from stepscope.simulate.devices import DEVICES
from stepscope.simulate.engine.run import clock_offset
from stepscope.simulate.job import SimJob
from stepscope.simulate.records import (
    ActivityRecord,
    CallRecord,
    DeviceSpanRecord,
    Flow,
    FrameRecord,
    Memory,
    Overhead,
    Past,
    Segment,
    SpanRecord,
    Wait,
)
from stepscope.simulate.specs import KernelSpec, OpSpec
from stepscope.simulate.writers.kineto_args import input_args, kernel_args

# Origin of the trace's times (Unix ns), and where on that axis the simulated job starts.
BASE_NS = 1_767_189_312_000_000_000
START_NS = 3_743_411_000_000_000

# CUPTI's callback ids of the runtime calls that occur.
_CBID = {
    "cudaMalloc": 20,
    "cudaFree": 22,
    "cudaMemcpyAsync": 41,
    "cudaMemsetAsync": 51,
    "cudaStreamSynchronize": 131,
    "cudaEventRecord": 135,
    "cudaStreamWaitEvent": 147,
    "cudaDeviceSynchronize": 165,
    "cudaLaunchKernel": 211,
    "cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags": 251,
    "cudaGraphLaunch": 311,
    "cudaStreamIsCapturing": 317,
    "cudaLaunchKernelExC": 430,
}
# End of an event with arguments.
_CLOSE = "\n    }\n  },\n"
_HIP = {
    "cudaLaunchKernelExC": "hipExtModuleLaunchKernel",
    "cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags": "hipGetDevicePropertiesR0600",
}


def micros(ns: int) -> str:
    """Nanoseconds (at least 1000) as µs with three decimals."""
    digits = str(ns)
    return f"{digits[:-3]}.{digits[-3:]}"


class Events:
    """Formats one rank's records; ``table`` maps a record's type to its formatter."""

    def __init__(self, job: SimJob, rank: int) -> None:
        self.job = job
        self.device = DEVICES[job.device]
        self.index = rank % job.ranks_per_host
        self.pid = 4100 + 131 * rank
        self.tids = (self.pid, self.pid + 117)
        self.streams = (self.device.compute_stream, self.device.comm_stream, self.device.copy_stream)
        self.shift = START_NS + clock_offset(job, rank)
        self.first = self.last = 0
        self.number = 0
        self._heads: dict[tuple[OpSpec, int], tuple[str, str]] = {}
        self._kernels: dict[tuple[KernelSpec, int], tuple[str, str]] = {}
        self._calls: dict[tuple[str, int], tuple[str, str]] = {}
        self.table: dict[type, Callable[[Any], str]] = {
            SpanRecord: self._span,
            CallRecord: self._call,
            ActivityRecord: self._activity,
            Memory: self._memory,
            Flow: self._flow,
            DeviceSpanRecord: self._device_span,
            FrameRecord: self._frame,
            Overhead: self._overhead,
            Segment: _nothing,
            Past: _nothing,
            Wait: _nothing,
        }

    def _span(self, r: SpanRecord) -> str:
        start, end, thread, spec, external, sequence, _ = r
        key = (spec, thread)
        parts = self._heads.get(key)
        if parts is None:
            parts = self._span_parts(spec, thread)
            if spec.kind == "op":
                self._heads[key] = parts
        ts = str(start + self.shift)
        number = self.number = self.number + 1
        linked = ""
        if sequence >= 0:
            linked = f'"Sequence number": {sequence}, "Fwd thread id": {1 if spec.backward else 0}, '
        if not self.first:
            self.first = start
        return (
            f'{parts[0]}{ts[:-3]}.{ts[-3:]}, "dur": {(end - start) / 1000:.3f},\n    "args": {{\n      '
            f'"External id": {external}, {linked}"Record function id": 0, {parts[1]}'
            f'"Ev Idx": {number}{_CLOSE}'
        )

    def _span_parts(self, spec: OpSpec, thread: int) -> tuple[str, str]:
        category = "cpu_op" if spec.kind == "op" else "user_annotation"
        shapes = input_args(spec) if self.job.record_shapes else ""
        extra = "".join(f"{json.dumps(key)}: {json.dumps(value)}, " for key, value in spec.extra.items())
        return self._head("X", category, spec.name, self.pid, self.tids[thread]), extra + shapes

    @staticmethod
    def _head(ph: str, category: str, name: str, pid: int, tid: int) -> str:
        return (
            f'  {{\n    "ph": "{ph}", "cat": "{category}", "name": {json.dumps(name)}, "pid": {pid}, '
            f'"tid": {tid},\n    "ts": '
        )

    def _call(self, r: CallRecord) -> str:
        start, end, thread, name, correlation, external, launches, *_ = r
        parts = self._calls.get((name, thread))
        if parts is None:
            parts = self._calls[name, thread] = self._call_parts(name, thread)
        ts = str(start + self.shift)
        stamp = f"{ts[:-3]}.{ts[-3:]}"
        linked = f'"External id": {external}, ' if external else ""
        text = (
            f'{parts[0]}{stamp}, "dur": {(end - start) / 1000:.3f},\n    "args": {{\n      {linked}{parts[1]}'
            f'"correlation": {correlation}\n    }}\n  }},\n'
        )
        if not launches:
            return text
        return (
            f'{text}  {{\n    "ph": "s", "id": {correlation}, "pid": {self.pid}, "tid": {self.tids[thread]}, '
            f'"ts": {stamp},\n    "cat": "ac2g", "name": "ac2g"\n  }},\n'
        )

    def _call_parts(self, name: str, thread: int) -> tuple[str, str]:
        code = _CBID.get(name, 0)
        if self.device.vendor == "amd":
            name = _HIP.get(name, name.replace("cuda", "hip"))
            field = f'"cid": {code}, '
        else:
            field = f'"cbid": {code}, '
        return self._head("X", "cuda_runtime", name, self.pid, self.tids[thread]), field

    def _activity(self, r: ActivityRecord) -> str:
        start, end, queue, spec, correlation, external, node, sequence, _ = r
        parts = self._kernels.get((spec, queue))
        if parts is None:
            stream = self.streams[queue]
            category = {"copy": "gpu_memcpy", "set": "gpu_memset"}.get(spec.kind, "kernel")
            head = self._head("X", category, spec.name, self.index, stream)
            parts = head, kernel_args(spec, self.device, self.index, stream)
            self._kernels[spec, queue] = parts
        ts = str(start + self.shift)
        stamp = f"{ts[:-3]}.{ts[-3:]}"
        linked = f'"External id": {external}, ' if external else ""
        graph = f', "graph id": 1, "graph node id": {node}' if node else ""
        if spec.collective is not None:
            graph = f', "Seq": {sequence}'
        elif spec.kind in ("copy", "set"):
            graph = f', "memory bandwidth (GB/s)": {spec.bytes / max(end - start, 1):.6f}'
        if end > self.last:
            self.last = end
        return (
            f'{parts[0]}{stamp}, "dur": {(end - start) / 1000:.3f},\n    "args": {{\n      {linked}{parts[1]}'
            f', "correlation": {correlation}{graph}\n    }}\n  }},\n'
            f'  {{\n    "ph": "f", "id": {correlation}, "pid": {self.index}, "tid": {self.streams[queue]}, '
            f'"ts": {stamp},\n    "cat": "ac2g", "name": "ac2g", "bp": "e"\n  }},\n'
        )

    def _memory(self, r: Memory) -> str:
        ts = str(r.ts + self.shift)
        number = self.number = self.number + 1
        return (
            f'  {{\n    "ph": "i", "cat": "cpu_instant_event", "s": "t", "name": "[memory]", '
            f'"pid": {self.pid}, "tid": {self.tids[r.thread]},\n    "ts": {ts[:-3]}.{ts[-3:]},\n'
            f'    "args": {{\n      "Total Reserved": {r.reserved}, "Total Allocated": {r.allocated}, '
            f'"Bytes": {r.bytes}, '
            f'"Addr": {r.address}, "Device Id": {self.index}, "Device Type": 1, "Ev Idx": {number}{_CLOSE}'
        )

    def _flow(self, r: Flow) -> str:
        common = '"cat": "fwdbwd", "name": "fwdbwd"'
        return (
            f'  {{\n    "ph": "s", "id": {r.id}, "pid": {self.pid}, "tid": {self.tids[r.start_thread]}, '
            f'"ts": {micros(r.start + self.shift)},\n    {common}\n  }},\n'
            f'  {{\n    "ph": "f", "id": {r.id}, "pid": {self.pid}, "tid": {self.tids[r.end_thread]}, '
            f'"ts": {micros(r.end + self.shift)},\n    {common}, "bp": "e"\n  }},\n'
        )

    def _device_span(self, r: DeviceSpanRecord) -> str:
        head = self._head("X", "gpu_user_annotation", r.spec.name, self.index, self.streams[r.queue])
        return (
            f'{head}{micros(r.start + self.shift)}, "dur": {(r.end - r.start) / 1000:.3f},\n    "args": {{\n'
            f'      "External id": {r.external}\n    }}\n  }},\n'
        )

    def _frame(self, r: FrameRecord) -> str:
        number = self.number = self.number + 1
        head = self._head("X", "python_function", r.name, self.pid, self.tids[r.thread])
        parent = r.parent or "null"
        module = f', "Python module id": {r.name.rpartition("_")[2]}' if r.name.startswith("nn.Module") else ""
        if module and not module[22:].isdigit():
            module = ', "Python module id": 0'
        return (
            f'{head}{micros(r.start + self.shift)}, "dur": {(r.end - r.start) / 1000:.3f},\n    "args": {{\n'
            f'      "Python parent id": {parent}, "Python id": {r.id}{module}, "Ev Idx": {number}{_CLOSE}'
        )

    def _overhead(self, r: Overhead) -> str:
        head = self._head("X", "overhead", r.name, -1, 0)
        return f'{head}{micros(r.start + self.shift)}, "dur": {(r.end - r.start) / 1000:.3f}\n  }},\n'


def _nothing(_: Segment | Past | Wait) -> str:
    return ""
