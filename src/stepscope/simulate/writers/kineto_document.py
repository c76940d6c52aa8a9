"""The text before and after the events of a Kineto trace."""

from __future__ import annotations

import json
from pathlib import Path

from stepscope.simulate.devices import DEVICES
from stepscope.simulate.job import SimJob
from stepscope.simulate.pipeline import RankGroup, experts_of, levels_of, stage_of
from stepscope.simulate.writers.kineto_events import BASE_NS, Events, micros


def header(job: SimJob, rank: int) -> str:
    """The object's first fields, up to the opening of ``traceEvents``."""
    fields: dict[str, object] = {"schemaVersion": 1, "deviceProperties": _devices(job)}
    if DEVICES[job.device].vendor == "nvidia":
        fields |= {"cupti_version": 24, "cuda_runtime_version": 12060, "cuda_driver_version": 12080}
    else:
        fields |= {"roctracer_version": 4.1, "hip_runtime_version": 60443483, "hip_driver_version": 60443483}
    if job.ranks > 1:
        groups = _groups(job, rank)
        fields["distributedInfo"] = {
            "backend": "nccl",
            "rank": rank,
            "world_size": job.ranks,
            "pg_count": len(groups),
            "pg_config": [
                {
                    "pg_name": group.name,
                    "pg_desc": group.description,
                    "backend_config": "cuda:nccl",
                    "pg_size": len(group.ranks),
                    "ranks": list(group.ranks),
                }
                for group in groups
            ],
            "nccl_version": "2.21.5",
        }
    flags = ("record_shapes", "with_stack", "profile_memory")
    fields |= {flag: 1 for flag in flags if getattr(job, flag)}
    fields["trace_id"] = f"{job.seed:016X}{rank:016X}"
    lines = [f'  "{name}": {json.dumps(value)},' for name, value in fields.items()]
    return (
        "{\n"
        + "\n".join(lines)
        + '\n  "displayTimeUnit": "ms",\n  "baseTimeNanoseconds": '
        + (f'{BASE_NS},\n  "traceEvents": [\n')
    )


def _groups(job: SimJob, rank: int) -> list[RankGroup]:
    """All ranks together, and the groups within it: of a pipeline, of experts, of a reduction in two levels."""
    every, stage = RankGroup("0", "default_pg", tuple(range(job.ranks))), stage_of(job, rank)
    if job.experts:
        return [every, experts_of(job)]
    if job.inner_ranks:
        return [every, *levels_of(job, rank)]
    return [every, stage.replicas, stage.pipe] if job.stages > 1 else [every]


def _devices(job: SimJob) -> list[dict[str, object]]:
    device = DEVICES[job.device]
    return [
        {
            "id": index,
            "name": device.name,
            "totalGlobalMem": device.memory,
            "computeMajor": device.capability[0],
            "computeMinor": device.capability[1],
            "maxThreadsPerBlock": 1024,
            "maxThreadsPerMultiprocessor": 2048,
            "regsPerBlock": 65536,
            "warpSize": device.warp,
            "sharedMemPerBlock": 49152,
            "numSms": device.sms,
        }
        for index in range(min(job.ranks, job.ranks_per_host))
    ]


def footer(job: SimJob, events: Events, path: Path) -> str:
    """Names of processes and threads, the recorded window, and the object's last fields."""
    start, end = micros(events.first + events.shift), micros(max(events.last, 1) + events.shift)
    rows = [_process(events.pid, "python3", "CPU", events.pid, start)]
    rows.append(_process(events.index, "python3", f"GPU {events.index}", 5_000_000 + events.index, start))
    for stream in events.streams:
        rows.append(_thread(events.index, stream, f"stream {stream} ", stream, start))
    for tid in events.tids:
        rows.append(_thread(events.pid, tid, f"thread {tid} (python3)", tid, start))
    span = max(1, events.last - events.first)
    rows.append(
        f'  {{\n    "ph": "X", "cat": "Trace", "ts": {start}, "dur": {span / 1000:.3f},\n    "pid": "Spans", '
        '"tid": "PyTorch Profiler", "name": "PyTorch Profiler (0)",\n'
        '    "args": {\n      "Op count": 0\n    }\n  },\n'
        f'  {{\n    "name": "process_sort_index", "ph": "M", "ts": {start},\n    "pid": "Spans", "tid": 0,\n'
        '    "args": {\n      "sort_index": 536870912\n    }\n  },\n'
        '  {\n    "name": "Iteration Start: PyTorch Profiler", "ph": "i", "s": "g",\n    "pid": "Traces", '
        f'"tid": "Trace PyTorch Profiler", "ts": {start}\n  }},\n'
        '  {\n    "name": "Record Window End", "ph": "i", "s": "g",\n    "pid": "", "tid": "", '
        f'"ts": {end}\n  }}\n'
    )
    name = json.dumps(f"{job.name}/{path.name}")
    return "".join(rows) + f'  ],\n  "traceName": {name}\n}}\n'


def _metadata(kind: str, pid: int, tid: int, ts: str, args: str) -> str:
    return (
        f'  {{\n    "name": "{kind}", "ph": "M", "ts": {ts}, "pid": {pid}, "tid": {tid},\n    "args": {{\n'
        f"      {args}\n    }}\n  }},\n"
    )


def _process(pid: int, name: str, label: str, order: int, ts: str) -> str:
    return (
        _metadata("process_name", pid, 0, ts, f'"name": "{name}"')
        + _metadata("process_labels", pid, 0, ts, f'"labels": "{label}"')
        + _metadata("process_sort_index", pid, 0, ts, f'"sort_index": {order}')
    )


def _thread(pid: int, tid: int, name: str, order: int, ts: str) -> str:
    return _metadata("thread_name", pid, tid, ts, f'"name": "{name}"') + _metadata(
        "thread_sort_index", pid, tid, ts, f'"sort_index": {order}'
    )
