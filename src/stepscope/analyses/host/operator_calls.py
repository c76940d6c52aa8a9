"""Every operator call with its self and total time on host and device."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stepscope.analyses.shared.host_tree import HostTree, host_trees
from stepscope.analyses.shared.needs import has_device, need_operators
from stepscope.model.coding import among
from stepscope.model.events.device_work import DeviceWork
from stepscope.model.intervals import Times
from stepscope.model.trace import Trace

_CATEGORIES = ("op", "runtime", "launch", "sync", "module", "annotation")
_RUNTIME, _MODULE = ("runtime", "launch", "sync"), ("module", "annotation")

Columns = dict[str, "NDArray[Any]"]


@dataclass(frozen=True, slots=True)
class OperatorCalls:
    """All n calls of operators, by thread and start, and the m device activities launched in them.

    What is int64 is int32 where all of it fits.

    Attributes:
        id: int64[n], their events.
        name: int32[n], `name_id`.
        dur: int64[n], host time as recorded.
        self_ns: int64[n], host time in no inner operator.
        runtime_ns: int64[n], the part of `self_ns` in calls of the runtime.
        outermost: bool[n], whether no call of the same operator is around it.
        module: int32[n], `name_id` of the innermost module or annotation around it, -1 if there is none.
        kernels: int32[n], device activities that it launched itself.
        self_device_ns: int64[n], sum of their durations.
        total_device_ns: int64[n], the same including those of inner operators.
        launched_by: int32[m], the call that launched each device activity.
        starts: int64[m], start of each.
        ends: int64[m], end of each.
        device: Whether the recording has device activity at all.
    """

    id: NDArray[np.int64]
    name: NDArray[np.int32]
    dur: Times
    self_ns: Times
    runtime_ns: Times
    outermost: NDArray[np.bool_]
    module: NDArray[np.int32]
    kernels: NDArray[np.int32]
    self_device_ns: Times
    total_device_ns: Times
    launched_by: NDArray[np.int32]
    starts: Times
    ends: Times
    device: bool


def operator_calls(trace: Trace) -> OperatorCalls:
    """Self and total times of all operator calls.

    Raises:
        MissingInputError: The recording has no operators.
    """
    need_operators(trace)
    work = DeviceWork.of(trace)
    of_operators = np.flatnonzero((work.op >= 0) & ~work.are("sync"))
    launched: Columns = {name: getattr(work, name)[of_operators] for name in ("op", "ts", "dur")}
    parts: list[dict[str, NDArray[Any]]] = []
    found = 0
    for tree in host_trees(trace, _CATEGORIES):
        calls, inside = _calls_in(tree, launched)
        inside["launched_by"] += found
        found += calls["id"].size
        parts.append({name: _narrow(values) for name, values in {**calls, **inside}.items()})
    return OperatorCalls(
        **{name: np.concatenate([part.pop(name) for part in parts]) for name in tuple(parts[0])},
        device=trace.once(has_device),
    )


def _narrow(values: NDArray[Any]) -> NDArray[Any]:
    """Cast int64 to int32 where all values fit, to halve the memory of millions of calls."""
    limits = np.iinfo(np.int32)
    if values.dtype != np.int64 or values.min(initial=0) < limits.min or values.max(initial=0) > limits.max:
        return values
    return values.astype(np.int32)


def _calls_in(tree: HostTree, launched: Columns) -> tuple[Columns, Columns]:
    """The calls of operators in a tree, and the device activities launched in them; by field of `OperatorCalls`."""
    is_op = tree.category == _CATEGORIES.index("op")
    operator = tree.nearest(is_op)
    outer = tree.above(operator)
    position, known = _launching(tree, launched["op"])
    dur = launched["dur"][known]
    kernels, direct = np.bincount(position, minlength=tree.id.size), np.zeros(tree.id.size, np.int64)
    np.add.at(direct, position, dur)
    ops = np.flatnonzero(is_op)
    number = np.cumsum(is_op, dtype=np.int32) - 1
    calls: Columns = {
        "id": tree.id[ops],
        "name": tree.name[ops],
        "dur": tree.dur[ops],
        "self_ns": _self_time(tree, ops, outer[ops])[ops],
        "runtime_ns": _runtime_time(tree, operator)[ops],
        "outermost": tree.outermost(is_op, outer)[ops],
        "module": _module(tree)[ops],
        "kernels": kernels[ops].astype(np.int32),
        "self_device_ns": direct[ops],
        "total_device_ns": tree.roll_up(direct)[ops],
    }
    starts = launched["ts"][known]
    return calls, {"launched_by": number[position], "starts": starts, "ends": starts + dur}


def _launching(tree: HostTree, op: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Tree positions of the given operators, and their indices."""
    if not tree.id.size:
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    near = np.flatnonzero((op >= tree.id.min()) & (op <= tree.id.max()))
    position = tree.positions(op[near])
    known = position >= 0
    return position[known], near[known]


def _module(tree: HostTree) -> NDArray[np.int32]:
    """`name_id` of the innermost module or annotation around each event, -1 if there is none."""
    is_module = among(tree.category, _CATEGORIES, _MODULE)
    if not is_module.any():
        return np.full(tree.id.size, -1, np.int32)
    around = tree.nearest(is_module)
    return np.where(around < 0, np.int32(-1), tree.name[around])


def _self_time(tree: HostTree, ops: NDArray[np.int64], outer: NDArray[np.int64]) -> Times:
    """Host time of the operators at these positions in no inner operator, given the operator around each."""
    inner = outer >= 0
    own: Times = tree.kept.copy()
    np.subtract.at(own, outer[inner], tree.kept[ops[inner]])
    return own


def _runtime_time(tree: HostTree, operator: NDArray[np.int64]) -> Times:
    """Time that each operator itself spends in calls of the runtime; nested calls count once."""
    is_call = among(tree.category, _CATEGORIES, _RUNTIME)
    calls = np.flatnonzero(is_call & ~tree.inside(is_call) & (operator >= 0))
    total = np.zeros(tree.id.size, np.int64)
    np.add.at(total, operator[calls], tree.kept[calls])
    return total
