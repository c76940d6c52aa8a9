"""Collectives from NCCL's NVTX ranges and their payloads."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final

import pyarrow as pa

from stepscope.readers.nsight.loader import ExportLoader
from stepscope.readers.nsight.payload import (
    COMMUNICATOR,
    SIZE,
    WORLD_SIZE,
    PayloadSchemas,
    decode_json,
    field_of,
)

_KINDS: Final = {
    "allreduce": "all_reduce", "allgather": "all_gather", "reducescatter": "reduce_scatter", "broadcast": "broadcast",
    "bcast": "broadcast", "reduce": "reduce", "alltoall": "all_to_all", "gather": "gather", "scatter": "scatter",
    "send": "send", "recv": "recv",
}  # fmt: skip
#: Collectives whose larger buffer holds one message per rank: NCCL records the size of one message.
_PER_RANK: Final = frozenset(("all_gather", "reduce_scatter", "all_to_all", "gather", "scatter"))
_CALL: Final = re.compile(r"nccl([A-Za-z]+)")

_CALLS_SQL: Final = """
SELECT r.id, r.global_tid, r.process, r.domain, r.text, n.payload, n.payload_bytes
FROM nsight_ranges r JOIN nsight_nvtx n USING (id)
WHERE starts_with(r.name, 'NCCL:') ORDER BY r.global_tid, r.start, r.id
"""


@dataclass(frozen=True, slots=True)
class _NcclCall:
    """A collective library call that moves data."""

    event: int
    kind: str
    communicator: int | None
    bytes: int | None


@dataclass(slots=True)
class _Thread:
    """The open group of calls of a thread; the group's end launches them."""

    depth: int = 0
    calls: list[_NcclCall] = field(default_factory=list)


def load_collectives(loader: ExportLoader, schemas: PayloadSchemas) -> None:
    """Stage each collective, for the range in which its device work is launched."""
    cursor = loader.staging.connect().execute(_CALLS_SQL)
    sizes: dict[tuple[int, int], int] = {}
    found: list[tuple[_NcclCall, int]] = []
    threads: dict[int, _Thread] = {}
    for event, thread, process, domain, text, payload, blob in _rows(cursor):
        match = _CALL.match(text)
        name = match.group(1) if match else ""
        kind = _KINDS.get(name.lower())
        needed = SIZE if kind else WORLD_SIZE
        numbers = decode_json(payload) if payload else schemas.decode(domain, needed, blob) if blob else {}
        communicator = field_of(numbers, COMMUNICATOR)
        if name.startswith("CommInit") and communicator is not None:
            sizes[process, communicator] = field_of(numbers, WORLD_SIZE) or 0
        state = threads.setdefault(thread, _Thread())
        call = _NcclCall(event, kind, communicator, field_of(numbers, SIZE)) if kind and numbers else None
        found += [(launched, process) for launched in _launched(state, name, event, call)]
    _stage(loader, found, sizes)


def _rows(cursor: Any) -> Iterator[tuple[Any, ...]]:
    while rows := cursor.fetchmany(1 << 14):
        yield from rows


def _launched(state: _Thread, name: str, event: int, call: _NcclCall | None) -> Iterable[_NcclCall]:
    """The collectives that a call launches: itself, or at the end of a group all its calls as one."""
    if name == "GroupStart":
        state.depth += 1
        return ()
    if name == "GroupEnd":
        state.depth = max(0, state.depth - 1)
        if state.depth:
            return ()
        grouped, state.calls = state.calls, []
        return (_joined(event, grouped),) if grouped else ()
    if call is None:
        return ()
    if state.depth:
        state.calls.append(call)
        return ()
    return (call,)


def _joined(event: int, calls: list[_NcclCall]) -> _NcclCall:
    """Combine the calls of a group to one collective; the size of sends and receives is the larger of their sums."""
    kinds = {call.kind for call in calls}
    communicators = {call.communicator for call in calls}
    kind = kinds.pop() if len(kinds) == 1 else "send_recv" if kinds == {"send", "recv"} else "other"
    sums = [sum(c.bytes for c in calls if c.kind == k and c.bytes is not None) for k in {c.kind for c in calls}]
    size = max(sums) if kind == "send_recv" else sum(sums)
    return _NcclCall(event, kind, communicators.pop() if len(communicators) == 1 else None, size)


def _stage(loader: ExportLoader, found: list[tuple[_NcclCall, int]], sizes: dict[tuple[int, int], int]) -> None:
    groups = {(process, call.communicator) for call, process in found if call.communicator is not None}
    loader.staging.insert(
        "collectives",
        pa.table(
            {
                "event": pa.array([call.event for call, _ in found], pa.int64()),
                "group": pa.array([_group(call.communicator) for call, _ in found], pa.string()),
                "collective": pa.array([call.kind for call, _ in found], pa.string()),
                "bytes": pa.array([_bytes(sizes, call, process) for call, process in found], pa.int64()),
                "world_size": pa.array([_size(sizes, call, process) for call, process in found], pa.int32()),
            }
        ),
    )
    named: dict[str, int | None] = {}
    for process, communicator in sorted(groups, key=str):
        size = sizes.get((process, communicator or 0))
        named[_group(communicator)] = size if size and size < 2**31 else None
    for name, size in named.items():
        loader.staging.connection.execute(
            'INSERT INTO "groups" ("group", backend, size) VALUES (?, ?, ?)', [name, "nccl", size]
        )


def _group(communicator: int | None) -> str:
    return "default" if communicator is None else f"{communicator & 0xFFFFFFFFFFFFFFFF:#x}"


def _size(sizes: dict[tuple[int, int], int], call: _NcclCall, process: int) -> int | None:
    size = sizes.get((process, call.communicator or 0))
    return size if size and size < 2**31 else None


def _bytes(sizes: dict[tuple[int, int], int], call: _NcclCall, process: int) -> int | None:
    if call.kind not in _PER_RANK or call.bytes is None:
        return call.bytes
    size = _size(sizes, call, process)
    return call.bytes * size if size and call.bytes < 2**62 // size else None
