"""Metadata of a trace: devices, process groups, clock, profiler options."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import islice
from typing import Any, Final

from stepscope.model.sizes import SIZES
from stepscope.readers.asked_for import ABOUT, told
from stepscope.readers.kineto.mends import clean, double_backslashes, escape_quotes, mend_values
from stepscope.store.staging import Staging

_OPTIONS: Final = ("record_shapes", "profile_memory", "with_stack", "with_flops", "with_modules")
_VERSIONS: Final = (
    "schemaVersion", "cupti_version", "cuda_runtime_version", "cuda_driver_version", "roctracer_version",
    "hip_runtime_version", "hip_driver_version", "traceName", "displayTimeUnit", "trace_id", "username", "hostname",
    "host_name",
)  # fmt: skip

#: Why a recording is not whole, as `stepscope record` writes it.
PARTIAL: Final = "stepscope_partial"
_KEYS: Final = (*_OPTIONS, *_VERSIONS, "distributedInfo", "deviceProperties", "baseTimeNanoseconds", PARTIAL, ABOUT)
_DECODER: Final = json.JSONDecoder(strict=False)
#: A member's name may also stand in other places.
_PLACES: Final = 8


def parse_metadata(header: bytes, trailer: str) -> tuple[dict[str, Any], bool]:
    """The object around the events, without them, and whether it was read without repair; empty if there is none.

    Args:
        header: Text up to and including the `[` of the event list; empty for a bare list.
        trailer: Text after the `]` of the event list; empty if the recording is truncated.
    """
    if not header:
        return {}, True
    head = header.decode("utf-8", "replace").lstrip("\ufeff")
    if len(head) + len(trailer) > SIZES.metadata_bytes:
        return _salvaged(head + "]" + trailer)
    # A trailer may be followed by anything, such as a second copy of the trace.
    for text in _mends(head + "]" + trailer):
        try:
            value, _ = _DECODER.raw_decode(text)
        except (ValueError, RecursionError):
            continue
        return _around_events(value) or {}, True
    return _salvaged(head + "]" + trailer)[0], not trailer


def _mends(text: str) -> Iterator[str]:
    """The text, with increasingly invasive mends."""
    yield text.lstrip()
    data = clean(text.encode("utf-8", "replace")).lstrip()
    yield data.decode()
    for mend in (double_backslashes, mend_values, escape_quotes):
        data = mend(data)
        yield data.decode()


def _salvaged(text: str) -> tuple[dict[str, Any], bool]:
    """The readable members of a broken, truncated or very large object, and whether those are all that are named."""
    found: dict[str, Any] = {}
    named = set()
    for key in _KEYS:
        for match in islice(re.finditer(rf'"{key}"\s*:\s*', text), _PLACES):
            named.add(key)
            try:
                found[key], _ = _DECODER.raw_decode(text[match.end() : match.end() + SIZES.metadata_bytes])
            except (ValueError, RecursionError):
                continue
            break
    return found, named == set(found)


def _around_events(value: Any, depth: int = 0) -> dict[str, Any] | None:
    """The innermost object that has `traceEvents`."""
    if not isinstance(value, dict) or depth > 20:
        return None
    if "traceEvents" in value:
        return {key: item for key, item in value.items() if key != "traceEvents"}
    for item in value.values():
        found = _around_events(item, depth + 1)
        if found is not None:
            return found
    return None


def integer(value: Any) -> int | None:
    """An integer from a number or a string of digits; None for other values."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value if abs(value) < 2**63 else None
    if isinstance(value, float):
        return int(value) if abs(value) < 2**53 else None
    if isinstance(value, str) and re.fullmatch(r"\s*-?\d{1,18}\s*", value):
        return int(value)
    return None


def attributes(metadata: dict[str, Any]) -> dict[str, str | int | float | bool]:
    """Recorded profiler options and versions."""
    found: dict[str, str | int | float | bool] = {}
    for key in _OPTIONS:
        if key in metadata:
            found[key] = metadata[key] in (1, True, "1", "true")
    for key in _VERSIONS:
        value = metadata.get(key)
        if isinstance(value, (str, int, float)) and not isinstance(value, bool):
            found[key] = value
    info = metadata.get("distributedInfo")
    if isinstance(info, dict):
        for key in ("backend", "nccl_version", "hostname"):
            if isinstance(info.get(key), str):
                found[key] = info[key]
    return {**found, **told(metadata)}


def add_devices(staging: Staging, metadata: dict[str, Any]) -> None:
    """Stage the devices that the trace describes; `ingest` marks those in use."""
    listed = metadata.get("deviceProperties")
    seen: set[int] = set()
    for item in listed if isinstance(listed, list) else []:
        if not isinstance(item, dict):
            continue
        index = integer(item.get("id"))
        if index is None or index in seen or abs(index) >= 2**31:
            continue
        seen.add(index)
        major, minor = integer(item.get("computeMajor")), integer(item.get("computeMinor"))
        row = {
            "device": index,
            "name": item.get("name") if isinstance(item.get("name"), str) else None,
            "used": False,
            "memory_bytes": integer(item.get("totalGlobalMem")),
            "sms": integer(item.get("numSms")),
            "max_threads_per_sm": integer(item.get("maxThreadsPerMultiprocessor")),
            "registers_per_sm": integer(item.get("regsPerMultiprocessor")),
            "shared_bytes_per_sm": integer(item.get("sharedMemPerMultiprocessor")),
            "warp_size": integer(item.get("warpSize")),
            "compute_capability": None if major is None else f"{major}.{minor or 0}",
        }
        names = ", ".join(row)
        marks = ", ".join("?" for _ in row)
        staging.connection.execute(f"INSERT INTO devices ({names}) VALUES ({marks})", list(row.values()))


def add_groups(staging: Staging, metadata: dict[str, Any]) -> None:
    """Stage the process groups that the trace describes."""
    info = metadata.get("distributedInfo")
    listed = info.get("pg_config") if isinstance(info, dict) else None
    if isinstance(listed, dict):
        listed = list(listed.values())
    for item in listed if isinstance(listed, list) else []:
        if not isinstance(item, dict):
            continue
        ranks = [r for r in (integer(v) for v in item.get("ranks") or []) if r is not None and abs(r) < 2**31]
        size = integer(item.get("pg_size"))
        row = [
            str(item.get("pg_name", item.get("uid", "default"))),
            str(item["pg_desc"]) if "pg_desc" in item else None,
            str(item["backend_config"]) if "backend_config" in item else None,
            len(ranks) if size is None else size,
            ranks or None,
        ]
        staging.connection.execute(
            'INSERT INTO "groups" ("group", description, backend, size, ranks) VALUES (?, ?, ?, ?, ?)', row
        )


def recorded_name(args: str) -> str:
    """The name in `{"name": "..."}`, as processes and threads have theirs; empty if it can't be read."""
    try:
        name = json.loads(args).get("name")
    except (ValueError, AttributeError):
        return ""
    return name if isinstance(name, str) else ""
