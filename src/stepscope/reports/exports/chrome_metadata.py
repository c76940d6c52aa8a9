"""Metadata of a Chrome trace: names of processes and threads, devices, groups, the clock."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from stepscope.model.trace import Trace
from stepscope.reports.exports.chrome_tracks import EventPlaces


def document_head(traces: Sequence[Trace], shift: int) -> str:
    """The document up to its events, whose times are `shift` ns later than in the traces."""
    head: dict[str, Any] = {"schemaVersion": 1, "displayTimeUnit": "ns"}
    if len(traces) == 1:
        [recording] = traces[0].recordings.values()
        head |= {key: value for key, value in recording.attributes.items() if key not in head and key != "backend"}
        if recording.origin_unix_ns is not None:
            head["baseTimeNanoseconds"] = recording.origin_unix_ns - shift
        if recording.rank is not None:
            head["distributedInfo"] = _distributed(traces[0])
        head["deviceProperties"] = [_device(row) for row in traces[0].table("devices").records()]
    return json.dumps(head, allow_nan=False)[:-1] + ", "


def metadata_events(places: EventPlaces) -> Iterator[dict[str, Any]]:
    """Names and order of processes and threads."""
    for order, (pid, name) in enumerate(places.processes.items()):
        yield _metadata("process_name", pid, 0, {"name": name})
        yield _metadata("process_sort_index", pid, 0, {"sort_index": order})
    for thread in places.threads:
        yield _metadata("thread_name", thread.pid, thread.tid, {"name": thread.name})
        yield _metadata("thread_sort_index", thread.pid, thread.tid, {"sort_index": thread.order})


def _metadata(name: str, pid: int, tid: int, args: dict[str, Any]) -> dict[str, Any]:
    return {"ph": "M", "name": name, "pid": pid, "tid": tid, "ts": 0, "args": args}


def _distributed(trace: Trace) -> dict[str, Any]:
    [recording] = trace.recordings.values()
    info: dict[str, Any] = {"rank": recording.rank, "world_size": recording.world_size}
    if "backend" in recording.attributes:
        info["backend"] = recording.attributes["backend"]
    groups = [
        {
            "pg_name": row["group"], "pg_desc": row["description"], "backend_config": row["backend"],
            "pg_size": row["size"], "ranks": row["ranks"] or [],
        }
        for row in trace.table("groups").records()
    ]  # fmt: skip
    return info | ({"pg_config": groups} if groups else {})


def _device(row: dict[str, Any]) -> dict[str, Any]:
    major, _, minor = (row["compute_capability"] or "").partition(".")
    properties = {
        "id": row["device"], "name": row["name"], "totalGlobalMem": row["memory_bytes"], "numSms": row["sms"],
        "maxThreadsPerMultiprocessor": row["max_threads_per_sm"], "regsPerMultiprocessor": row["registers_per_sm"],
        "sharedMemPerMultiprocessor": row["shared_bytes_per_sm"], "warpSize": row["warp_size"],
        "computeMajor": int(major) if major.isdigit() else None,
        "computeMinor": int(minor) if minor.isdigit() else None,
    }  # fmt: skip
    return {key: value for key, value in properties.items() if value is not None}
