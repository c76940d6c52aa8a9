"""Every call of an operator with its own and its total time, on the host and on the device."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stepscope.analyses.host_tree import HostTree, host_trees
from stepscope.analyses.needs import need_operators
from stepscope.model.intervals import Times
from stepscope.model.trace import Trace

_CATEGORIES = ("op", "runtime", "launch", "sync", "module", "annotation")
_OP, _RUNTIME, _MODULE = (0,), (1, 2, 3), (4, 5)

_DEVICE_SQL = """
SELECT k.op, k.ts, k.ts + k.dur AS stop, k.dur, s.track, s.ts AS begin
FROM kernels k JOIN spans s ON s.id = k.op WHERE k.kind <> 'sync'
"""

Columns = dict[str, "NDArray[Any]"]


@dataclass(frozen=True, slots=True)
class OperatorCalls:
    """All n calls of operators, by thread and begin, and the m device activities launched in them.

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
        launched_by: int64[m], the call that launched each device activity.
        starts: int64[m], begin of each.
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
    launched_by: NDArray[np.int64]
    starts: Times
    ends: Times
    device: bool


def operator_calls(trace: Trace) -> OperatorCalls:
    """Find the times of all calls of operators.

    Raises:
        MissingInputError: The recording has no operators.
    """
    need_operators(trace)
    launched = trace.columns(_DEVICE_SQL)
    parts: list[dict[str, NDArray[Any]]] = []
    found = 0
    for tree in host_trees(trace, _CATEGORIES):
        calls, work = _calls_in(tree, launched)
        work["launched_by"] += found
        found += calls["id"].size
        parts.append({**calls, **work})
    return OperatorCalls(
        **{name: np.concatenate([part.pop(name) for part in parts]) for name in tuple(parts[0])},
        device=bool(trace.scalar("SELECT count(*) FROM kernels WHERE kind <> 'sync'")),
    )


def _calls_in(tree: HostTree, launched: Columns) -> tuple[Columns, Columns]:
    """The calls of operators in a tree, and the device activities launched in them; by field of `OperatorCalls`."""
    is_op = np.isin(tree.category, _OP)
    operator = tree.nearest(is_op)
    around = tree.nearest(np.isin(tree.category, _MODULE))
    mine = _within(tree, launched)
    rows = {name: values[mine] for name, values in launched.items()}
    position = tree.positions(rows["op"])
    known = position >= 0
    kernels, direct = np.zeros(tree.id.size, np.int32), np.zeros(tree.id.size, np.int64)
    np.add.at(kernels, position[known], 1)
    np.add.at(direct, position[known], rows["dur"][known])
    number = np.cumsum(is_op) - 1
    calls: Columns = {
        "id": tree.id[is_op],
        "name": tree.name[is_op],
        "dur": tree.dur[is_op],
        "self_ns": _self_time(tree, is_op, operator)[is_op],
        "runtime_ns": _runtime_time(tree, operator)[is_op],
        "outermost": tree.outermost(is_op)[is_op],
        "module": np.where(around < 0, -1, tree.name[around])[is_op].astype(np.int32),
        "kernels": kernels[is_op],
        "self_device_ns": direct[is_op],
        "total_device_ns": tree.roll_up(direct)[is_op],
    }
    work = {"launched_by": number[position[known]], "starts": rows["ts"][known], "ends": rows["stop"][known]}
    return calls, work


def _within(tree: HostTree, launched: Columns) -> NDArray[np.bool_]:
    """Which device activities were launched in operators of the threads and of the time of a tree."""
    if not tree.id.size:
        return np.zeros(launched["op"].size, np.bool_)
    mine: NDArray[np.bool_] = np.isin(launched["track"], np.unique(tree.track))
    mine &= (launched["begin"] >= tree.ts.min()) & (launched["begin"] <= tree.ts.max())
    return mine


def _self_time(tree: HostTree, is_op: NDArray[np.bool_], operator: NDArray[np.int64]) -> Times:
    """Of each operator, the time in no inner operator."""
    outer = tree.above(operator)
    inner = np.flatnonzero(is_op & (outer >= 0))
    own: Times = tree.kept.copy()
    np.subtract.at(own, outer[inner], tree.kept[inner])
    return own


def _runtime_time(tree: HostTree, operator: NDArray[np.int64]) -> Times:
    """Of each operator, the time that it spends itself in calls of the runtime; calls inside calls count once."""
    is_call = np.isin(tree.category, _RUNTIME)
    outer = tree.above(tree.nearest(is_call))
    calls = np.flatnonzero(is_call & (outer < 0) & (operator >= 0))
    total = np.zeros(tree.id.size, np.int64)
    np.add.at(total, operator[calls], tree.kept[calls])
    return total
