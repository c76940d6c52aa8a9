"""Stage device work: kernels, copies and memsets."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from stepscope.readers.kineto import values
from stepscope.readers.kineto.event_kinds import EventKinds
from stepscope.readers.kineto.events import NONE, EventBatch
from stepscope.readers.kineto.remembering import Remembering, Texts
from stepscope.readers.kineto.vocabulary import DIRECTION
from stepscope.store.staging import Staging

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: Arguments of device work that are texts: of few distinct combinations.
TEXTS: Final = ("grid", "block", "registers per thread", "shared memory", "est. achieved occupancy %",
                "direction", "kind")  # fmt: skip
#: Those that are integers, each of many values.
INTEGERS: Final = ("graph id", "graph node id", "bytes", "size")

_AXES: Final = pa.list_(pa.int32())
#: How a copy's direction is written in arguments, beside in words.
_ENUMS: Final = {"HOST_TO_DEVICE": "HtoD", "DEVICE_TO_HOST": "DtoH", "DEVICE_TO_DEVICE": "DtoD"}


#: What is recorded of kernels: grid, block, registers, bytes of shared memory and occupancy.
Described = Remembering[tuple[Any, ...]]


def stage_work(staging: Staging, events: EventBatch, rows: NDArray[np.int64], kinds: EventKinds,
               pairs: NDArray[np.int64], described: Described) -> None:  # fmt: skip
    """Stage device work.

    Args:
        staging: The staging area.
        events: EventBatch.
        rows: Those that are device work.
        kinds: The distinct pairs of category and name.
        pairs: int64[rows.size], the numbers of their pairs.
        described: `describe`, which remembers what it found in the batches before.
    """
    details = kinds.details(pairs)
    texts = events.rows.combined["work"]
    number = texts.numbers[rows]
    found = [described(one[:5]) for one in texts.texts]
    columns = {
        name: pa.array([one[position] for one in found], kind).take(pa.array(number))
        for position, (name, kind) in enumerate(
            {"grid": _AXES, "block": _AXES, "registers": pa.int32(), "shared_bytes": pa.int64(),
             "occupancy": pa.float64()}.items()
        )
    }  # fmt: skip
    node, graph = (events.integers(key)[rows] for key in ("graph node id", "graph id"))
    in_graph = np.where(node != NONE, node, graph) > 0
    is_collective = np.array([one[3] is not None for one in events.rows.combined["kind"].texts], np.bool_)
    is_comm = is_collective[events.rows.combined["kind"].numbers[rows]] & details["kind"].is_null().to_numpy(False)
    staging.insert(
        "raw_kernels",
        pa.table(
            {
                "event": events.ids[rows],
                "kind": pa.array(["comm"]).take(pa.array(np.zeros(rows.size, np.int8))) if is_comm.all()
                else pa.compute.if_else(pa.array(is_comm), "comm", details["kind"]),
                **columns,
                "in_graph": pa.array(in_graph, mask=~in_graph),
            }
        ),
    )  # fmt: skip
    copies = np.flatnonzero(kinds.is_copy[pairs])
    if copies.size:
        _stage_copies(staging, events, rows[copies], {k: v.take(pa.array(copies)) for k, v in details.items()})


def _stage_copies(staging: Staging, events: EventBatch, rows: NDArray[np.int64], details: dict[str, pa.Array]) -> None:
    texts = events.rows.combined["work"]
    recorded = [_recorded_direction(*map(values.text, one[5:7])) for one in texts.texts]
    # A copy's name takes precedence over its arguments.
    found = [
        "set" if kind == "set" else direction or recorded[number]
        for kind, direction, number in zip(
            details["kind"].to_pylist(), details["direction"].to_pylist(), texts.numbers[rows].tolist(), strict=True
        )
    ]
    bytes_, size = (events.integers(key)[rows] for key in ("bytes", "size"))
    moved = np.where(bytes_ != NONE, bytes_, size)
    staging.insert(
        "copies",
        pa.table(
            {
                "event": events.ids[rows], "direction": pa.array(found, pa.string()),
                "bytes": pa.array(moved, mask=moved == NONE),
                "src_kind": details["source"], "dst_kind": details["target"],
            }
        ),
    )  # fmt: skip


def describe(texts: Texts) -> tuple[Any, ...]:
    """What is recorded of a kernel by the first five of `TEXTS`, None for what is not or can't be read."""
    grid, block, registers, shared, occupancy = texts
    percent = values.thousandths(occupancy)
    return (
        _axes(grid), _axes(block), _int32(registers), values.int64(shared),
        None if percent is None or abs(percent) == values.LIMIT else _number(occupancy) / 100,
    )  # fmt: skip


def _axes(raw: bytes | None) -> list[int | None] | None:
    """The extents of a grid or block."""
    if raw is None or raw[:1] != b"[":
        return None
    try:
        parts = json.loads(raw)
    except (ValueError, RecursionError):
        return None
    return [_int32(json.dumps(part).encode()) if not isinstance(part, list | dict) else None for part in parts]


def _int32(raw: bytes | None) -> int | None:
    value = values.integer(raw) if raw != b"null" else None
    return value if value is not None and abs(value) < 2**31 else None


def _number(raw: bytes | None) -> float:
    """A number that `values.thousandths` can read, as it is."""
    return float(values.text(raw) or "nan")


def _recorded_direction(direction: str | None, kind: str | None) -> str:
    """The direction that arguments tell of."""
    spelled = re.search(DIRECTION, kind or "")
    if spelled:
        return spelled[1]
    upper = (direction or "").upper()
    return next((name for written, name in _ENUMS.items() if written in upper), "unknown")
