"""Device work as operations in execution order, each with its role, operator, size and kernels."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stepscope.model.errors import MissingInputError
from stepscope.model.events.columns import Spans, names_by_id
from stepscope.model.events.copies import DIRECTIONS, Copies
from stepscope.model.events.device_work import DeviceWork
from stepscope.model.events.grids import Grids
from stepscope.model.events.op_inputs import input_texts, inputs_of
from stepscope.model.kernel_names import OP_CLASSES
from stepscope.model.trace import Trace
from stepscope.signals.shared.operator_attribution import describing_operators
from stepscope.signals.shared.roles import BOUNDARY, OTHER, role_of_kernel, role_of_operator
from stepscope.signals.shared.tensor_shapes import tensors
from stepscope.signals.signal import Signals, signal

Ids = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Operations:
    """The n operations of all queues, one queue after the other, with boundaries that no sequence crosses.

    They lie after each queue, between steps, and where a number is read from the device: what comes after it may depend
    on what the host makes of it.

    An operation is an operator call with all that it put on the queue, or a kernel where the operator is not known.

    Attributes:
        letters: A role of `stepscope.signals.shared.roles` for each.
        op: int64[n], event of the operator; -1 if there is none that is known.
        ts: int64[n], start on the queue.
        dur: int64[n], time on the queue.
        size: float64[n], elements of the largest operand; if only the launch is known, minus the number of threads; 0
            if neither is.
        shape: int32[n], position in `shapes`; -1 if not recorded.
        depth: int32[n], blocks in z, in which libraries count the GEMMs of a batch; 0 if not recorded.
        called: int64[n], start of the operator on the host; -1 if there is none.
        thread: int32[n], track of the operator; -1 if there is none.
        shapes: Recorded shapes of inputs, JSON.
        kernels: int64[m], device events, operation by operation.
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

    def within(self, units: Ids) -> Ids:
        """Positions in `kernels` of the kernels of these operations."""
        counts = self.first[units + 1] - self.first[units]
        ends = np.cumsum(counts)
        within: Ids = np.arange(counts.sum()) - np.repeat(ends - counts, counts) + np.repeat(self.first[units], counts)
        return within

    def alike(self, left: Ids, right: Ids) -> NDArray[np.bool_]:
        """Whether operations work on equally many elements, as far as known.

        Numbers of threads decide only up to the elements per thread, 1 to 4 in PyTorch's kernels.
        """
        a, b = self.size[left], self.size[right]
        low, high = np.minimum(np.abs(a), np.abs(b)), np.maximum(np.abs(a), np.abs(b))
        exact = (a > 0) & (b > 0)
        close: NDArray[np.bool_] = np.where(exact, a == b, (high <= 4 * low) | (low == 0))
        return close


@signal()
def operations(s: Signals) -> Operations:
    """All operations of the devices in order, with the role of each.

    Without device work it abstains: operators of a recording whose device is missing only show the time of launches.
    """
    kernels = _kernels(s.trace)
    if not kernels.size:
        raise MissingInputError.of("device")
    return _of_kernels(s.trace, kernels)


def _cuts(trace: Trace, at: Ids) -> Ids:
    """Positions in `at` before which a boundary lies, within a queue."""
    device, copies = DeviceWork.of(trace), Copies.of(trace)
    read = copies.at[copies.direction == DIRECTIONS.index("DtoH")]
    both = np.concatenate((read, at))
    order = np.lexsort((device.ts[both], device.track[both]))
    reads = np.cumsum(order < read.size)[order >= read.size]  # before each of `at`, which are in the same order
    track, step = device.track[at], device.step[at]
    changed = (track[1:] != track[:-1]) | (step[1:] != step[:-1]) | (reads[1:] != reads[:-1])
    return np.flatnonzero(changed) + 1


def _kernels(trace: Trace) -> Ids:
    """Positions in `DeviceWork` of compute, collectives and copies within the device, by queue and time."""
    device, copies = DeviceWork.of(trace), Copies.of(trace)
    chosen = device.are("compute", "comm")
    inner = copies.at[copies.direction == DIRECTIONS.index("DtoD")]
    chosen[inner[device.are("copy")[inner]]] = True
    at = np.flatnonzero(chosen)
    return at[np.lexsort((device.event[at], device.ts[at], device.track[at]))]


def _of_kernels(trace: Trace, at: Ids) -> Operations:
    device, grids, spans = DeviceWork.of(trace), Grids.of(trace), Spans(trace)
    described = trace.once(describing_operators)[at]
    rows = spans.rows(described)
    recorded = rows >= 0
    op = np.where(recorded, described, -1)
    role, known = _roles(trace, device, at, np.where(recorded, spans.name[rows], -1))
    # Kernels of one operator are one operation; those of an operator that says nothing each are their own.
    together, cuts = np.zeros(role.size, np.bool_), _cuts(trace, at)
    together[1:] = known[1:] & (op[1:] == op[:-1])
    together[cuts] = False
    starts = np.flatnonzero(~together)
    head = rows[starts]
    shape, shapes = _shapes(trace, np.where(head >= 0, trace.once(inputs_of)[head], -1))
    size = _sizes(shape, shapes)
    threads = np.maximum.reduceat(grids.threads[at], starts)
    return _bounded(
        np.append(np.searchsorted(starts, cuts), starts.size),
        role[starts],
        {
            "op": np.where(known, op, -1)[starts], "ts": device.ts[at[starts]],
            "dur": np.add.reduceat(device.dur[at], starts), "shape": shape,
            "depth": np.maximum.reduceat(grids.depth[at], starts),
            "size": np.where(size > 0, size, -threads), "first": starts,
            "called": np.where(head >= 0, spans.ts[head], -1),
            "thread": np.where(head >= 0, spans.track[head], -1).astype(np.int32),
        },
        shapes, (device.event[at], device.launch[at]),
    )  # fmt: skip


def _roles(
    trace: Trace, device: DeviceWork, at: Ids, operator: NDArray[np.int32]
) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """The letter of each kernel, and whether its operator, with this `name_id`, determined it."""
    names = trace.once(names_by_id)
    last = max(names, default=-1)
    operators = np.unique(operator)
    of_name = np.full(last + 2, OTHER)  # the last place stands for -1
    of_name[operators] = [role_of_operator(names.get(name_id, "")) for name_id in operators.tolist()]
    of_operator = of_name[operator]
    key = device.name[at] * len(OP_CLASSES) + device.op_class[at]
    letters = np.full((last + 1) * len(OP_CLASSES), OTHER)
    for op_class_at in np.flatnonzero(np.bincount(key)).tolist():
        name_id, op_class = divmod(op_class_at, len(OP_CLASSES))
        letters[op_class_at] = role_of_kernel(names[name_id], OP_CLASSES[op_class])
    known = of_operator != OTHER
    return np.where(known, of_operator, letters[key]), known


def _shapes(trace: Trace, texts: NDArray[np.int32]) -> tuple[NDArray[np.int32], tuple[str, ...]]:
    """Positions of recorded shapes for rows of `input_texts`, and these shapes."""
    wanted = np.unique(texts[texts >= 0])
    known = {code: row["shapes"] for code, row in trace.once(input_texts).items() if row["shapes"]}
    code_of: dict[str, int] = {}
    code = np.full(int(wanted.max(initial=-1)) + 2, -1, np.int32)
    for one in wanted.tolist():
        if one in known:
            code[one] = code_of.setdefault(known[one], len(code_of))
    return code[texts], tuple(code_of)


def _sizes(shape: NDArray[np.int32], shapes: tuple[str, ...]) -> NDArray[np.float64]:
    each = np.array([max((math.prod(dims) for dims in tensors(text)), default=0) for text in shapes] + [0], np.float64)
    return each[shape]


def _bounded(
    last: Ids, role: NDArray[Any], columns: dict[str, NDArray[Any]], shapes: tuple[str, ...],
    kernels: tuple[Ids, Ids],
) -> Operations:  # fmt: skip
    """Put a boundary before each of these positions."""
    fill: dict[str, Any] = {"op": -1, "shape": -1, "first": np.append(columns["first"], kernels[0].size)[last]}
    bounded = {name: np.insert(values, last, fill.get(name, 0)) for name, values in columns.items()}
    first = np.append(bounded.pop("first"), kernels[0].size)
    letters = "".join(np.insert(role, last, BOUNDARY).tolist())
    return Operations(letters=letters, shapes=shapes, kernels=kernels[0], launches=kernels[1], first=first, **bounded)
