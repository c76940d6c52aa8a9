"""What the devices did, operation by operation, in the order in which they did it."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from stepscope.model.errors import MissingInputError
from stepscope.model.trace import Trace
from stepscope.signals.roles import BOUNDARY, OTHER, role_of_kernel, role_of_operator
from stepscope.signals.signal import Signals, signal
from stepscope.signals.telling import TELLING_SQL, telling

Ids = NDArray[np.int64]

_KERNELS_SQL: Final = f"""
WITH {TELLING_SQL}
SELECT k.event, k.track, k.ts, k.dur, coalesce(o.id, -1) AS op, coalesce(k.launch, -1) AS launch, e.name_id,
    coalesce(o.name_id, -1) AS op_name, k.op_class, i.shapes,
    coalesce(grid[1]::DOUBLE * grid[2] * grid[3] * block[1] * block[2] * block[3], 0)::DOUBLE AS threads,
    coalesce(grid[3], 0)::INTEGER AS depth, coalesce(o.ts, -1) AS called, coalesce(o.track, -1)::INTEGER AS thread
FROM kernels k JOIN spans e ON e.id = k.event LEFT JOIN telling t ON t.op = k.op
LEFT JOIN spans o ON o.id = coalesce(t.told, k.op) LEFT JOIN op_inputs i ON i.event = o.id
LEFT JOIN copies c ON c.event = k.event
WHERE k.kind IN ('compute', 'comm') OR (k.kind = 'copy' AND c.direction = 'DtoD')
ORDER BY k.track, k.ts, k.event
"""
_OPERATORS_SQL: Final = """
SELECT s.id AS event, s.track, s.ts, coalesce(s.dur, 0) AS dur, s.name_id, i.shapes
FROM spans s JOIN tracks t USING (track) LEFT JOIN op_inputs i ON i.event = s.id
WHERE t.kind = 'host' AND s.category = 'op' AND s.name_id IN (SELECT unnest($known)) ORDER BY s.track, s.ts, s.depth
"""


@dataclass(frozen=True, eq=False)
class Work:
    """The n operations of all queues, one queue after the other, with a boundary after each.

    An operation is an operator call with all that it put on the queue, or a kernel where the operator is not known. In
    a recording without devices it is an operator call on a host thread.

    Attributes:
        letters: A role of `stepscope.signals.roles` for each.
        op: int64[n], event of the operator; -1 if there is none that is known.
        ts: int64[n], begin on the queue.
        dur: int64[n], time on the queue.
        size: float64[n], elements of the largest operand; if only the launch is known, minus the number of threads; 0
            if neither is.
        shape: int32[n], position in `shapes`; -1 if not recorded.
        depth: int32[n], blocks in z, in which libraries count the products of a batch; 0 if not recorded.
        called: int64[n], begin of the operator on the host; -1 if there is none.
        thread: int32[n], track of the operator; -1 if there is none.
        shapes: Recorded shapes of inputs, JSON.
        kernels: int64[m], device events, operation by operation; none in a recording without devices.
        launches: int64[m], the calls that launched them; -1 if not recorded.
        first: int64[n + 1], where each operation's kernels begin.
    """

    letters: str
    op: Ids
    ts: Ids
    dur: Ids
    size: NDArray[np.float64]
    shape: NDArray[np.int32]
    depth: NDArray[np.int32]
    called: Ids
    thread: NDArray[np.int32]
    shapes: tuple[str, ...]
    kernels: Ids
    launches: Ids
    first: Ids

    @cached_property
    def on_device(self) -> bool:
        """Whether operations are those of devices, not of host threads."""
        return self.kernels.size > 0

    def within(self, units: Ids) -> Ids:
        """Positions in `kernels` of the kernels of these operations."""
        counts = self.first[units + 1] - self.first[units]
        ends = np.cumsum(counts)
        within: Ids = np.arange(counts.sum()) - np.repeat(ends - counts, counts) + np.repeat(self.first[units], counts)
        return within

    def alike(self, left: Ids, right: Ids) -> NDArray[np.bool_]:
        """Whether operations work on equally many elements, as far as is known.

        Threads say it only up to the number of elements that each of them takes, 1 to 4 in PyTorch's kernels.
        """
        a, b = self.size[left], self.size[right]
        low, high = np.minimum(np.abs(a), np.abs(b)), np.maximum(np.abs(a), np.abs(b))
        exact = (a > 0) & (b > 0)
        close: NDArray[np.bool_] = np.where(exact, a == b, (high <= 4 * low) | (low == 0))
        return close


@signal()
def work(s: Signals) -> Work:
    """All operations of the devices, or of the host in a job without, in order, and what each of them does."""
    kernels = s.trace.sql(_KERNELS_SQL, telling(s.trace))
    found = _of_kernels(s.trace, kernels) if kernels.num_rows else _of_operators(s.trace)
    if found is None:
        raise MissingInputError(
            "the recording has neither device work nor operators",
            hint="record operators and the device (PyTorch: activities=[CPU, CUDA])",
        )
    return found


@lru_cache(maxsize=65_536)
def tensors(shapes: str) -> tuple[tuple[int, ...], ...]:
    """The shapes of all tensors among recorded inputs, those in lists too; none if they can't be read."""
    try:
        listed = json.loads(shapes)
    except (ValueError, RecursionError):
        return ()
    return tuple(_tensors(listed)) if isinstance(listed, list) else ()


def _tensors(items: list[Any]) -> list[tuple[int, ...]]:
    found: list[tuple[int, ...]] = []
    for item in items:
        if not isinstance(item, list) or not item:
            continue
        if all(isinstance(dim, int) and not isinstance(dim, bool) for dim in item):
            found.append(tuple(item))
        elif all(isinstance(part, list) and all(isinstance(dim, int) for dim in part) for part in item):
            found.extend(tuple(part) for part in item)
    return found


def _of_kernels(trace: Trace, rows: pa.Table) -> Work:
    column = {name: rows[name].to_numpy() for name in rows.column_names if name not in ("shapes", "op_class")}
    role, known = _roles(trace, rows, column)
    # Kernels of one operator are one operation; those of an operator that says nothing each are their own.
    together = np.zeros(role.size, np.bool_)
    together[1:] = known[1:] & (column["op"][1:] == column["op"][:-1]) & (column["track"][1:] == column["track"][:-1])
    begins = np.flatnonzero(~together)
    shape, shapes = _shapes(rows, begins)
    size = _sizes(shape, shapes)
    unit = np.cumsum(~together) - 1
    threads, depth = np.zeros(begins.size), np.zeros(begins.size, np.int32)
    np.maximum.at(threads, unit, column["threads"])
    np.maximum.at(depth, unit, column["depth"])
    dur = np.zeros(begins.size, np.int64)
    np.add.at(dur, unit, column["dur"])
    return _bounded(
        column["track"][begins],
        role[begins],
        {
            "op": np.where(known, column["op"], -1)[begins], "ts": column["ts"][begins], "dur": dur, "shape": shape,
            "depth": depth,
            "size": np.where(size > 0, size, -threads), "first": begins, "called": column["called"][begins],
            "thread": column["thread"][begins],
        },
        shapes, (column["event"], column["launch"]),
    )  # fmt: skip


def _of_operators(trace: Trace) -> Work | None:
    names = trace.rows("SELECT name_id, name FROM names")
    letter = {row["name_id"]: role for row in names if (role := role_of_operator(row["name"])) != OTHER}
    rows = trace.sql(_OPERATORS_SQL, {"known": list(letter)})
    if not rows.num_rows:
        return None
    column = {name: rows[name].to_numpy() for name in rows.column_names if name != "shapes"}
    # Inside an operator that is known, others are how it does it. Threads are told apart by an offset beyond all ends.
    ends = column["ts"] + column["dur"]
    offset = column["track"].astype(np.int64) * (int(ends.max()) + 1)
    reach = np.maximum.accumulate(ends + offset)
    outer = np.ones(ends.size, np.bool_)
    outer[1:] = (column["ts"] + offset)[1:] >= reach[:-1]
    kept = np.flatnonzero(outer)
    shape, shapes = _shapes(rows, kept)
    return _bounded(
        column["track"][kept],
        np.array([letter[name] for name in column["name_id"][kept].tolist()]),
        {
            "op": column["event"][kept], "ts": column["ts"][kept], "dur": column["dur"][kept], "shape": shape,
            "depth": np.zeros(kept.size, np.int32), "size": _sizes(shape, shapes), "called": column["ts"][kept],
            "thread": column["track"][kept].astype(np.int32), "first": np.zeros(kept.size, np.int64),
        },
        shapes, (np.empty(0, np.int64), np.empty(0, np.int64)),
    )  # fmt: skip


def _roles(trace: Trace, rows: pa.Table, column: dict[str, NDArray[Any]]) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """The letter of each kernel, and whether its operator gave it."""
    names = {row["name_id"]: row["name"] for row in trace.rows("SELECT name_id, name FROM names")}
    operators, which = np.unique(column["op_name"], return_inverse=True)
    of_operator = np.array([role_of_operator(names.get(i, "")) for i in operators.tolist()])[which]
    classes = rows["op_class"].combine_chunks().dictionary_encode()
    words = classes.dictionary.to_pylist()
    key = column["name_id"].astype(np.int64) * len(words) + classes.indices.to_numpy()
    kinds, which = np.unique(key, return_inverse=True)
    of_kernel = [role_of_kernel(names.get(i // len(words), ""), words[i % len(words)]) for i in kinds.tolist()]
    known = of_operator != OTHER
    return np.where(known, of_operator, np.array(of_kernel)[which]), known


def _shapes(rows: pa.Table, kept: Ids) -> tuple[NDArray[np.int32], tuple[str, ...]]:
    encoded = rows["shapes"].combine_chunks().dictionary_encode()
    code = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int32)
    return code[kept], tuple(encoded.dictionary.to_pylist())


def _sizes(shape: NDArray[np.int32], shapes: tuple[str, ...]) -> NDArray[np.float64]:
    each = np.array([max((math.prod(dims) for dims in tensors(text)), default=0) for text in shapes] + [0], np.float64)
    return each[shape]


def _bounded(
    track: NDArray[Any], role: NDArray[Any], columns: dict[str, NDArray[Any]], shapes: tuple[str, ...],
    kernels: tuple[Ids, Ids],
) -> Work:  # fmt: skip
    """Put a boundary after each queue."""
    last = np.append(np.flatnonzero(track[1:] != track[:-1]) + 1, track.size)
    fill = {"op": -1, "shape": -1, "first": np.append(columns["first"], kernels[0].size)[last]}
    bounded = {name: np.insert(values, last, fill.get(name, 0)) for name, values in columns.items()}
    first = np.append(bounded.pop("first"), kernels[0].size)
    letters = "".join(np.insert(role, last, BOUNDARY).tolist())
    return Work(letters=letters, shapes=shapes, kernels=kernels[0], launches=kernels[1], first=first, **bounded)
