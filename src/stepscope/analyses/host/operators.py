"""Host and device time by operator: in total, by input shapes, by Python stack, by module.

Device time is the sum of the durations of device activities, as in PyTorch's own tables: activities that overlap each
count in full, and `self_device_busy_ns` is their union. Activities are assigned to operators through their launch;
`kernel_attribution` has the share without one.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from stepscope.analyses.host.operator_calls import OperatorCalls, operator_calls
from stepscope.analyses.registry import Analysis
from stepscope.analyses.shared.grouping import Groups, ordered_table, shares, texts
from stepscope.analyses.shared.stacks import op_stacks
from stepscope.model.errors import MissingInputError
from stepscope.model.schema import Column, TableSchema, ns, summary_columns, text
from stepscope.model.table import Table
from stepscope.model.tables import OP_INPUTS, RANK
from stepscope.model.trace import Trace

_SUMMARY = tuple(
    replace(column, description="Host time in it; calls inside a call of the same operator add nothing.")
    if column.name == "total_ns"
    else column
    for column in summary_columns("operator", "the host time in all operators, inner ones within outer ones")
)
_NO_DEVICE = "Null if the recording has no device activity."
_TIMES = (
    ns("self_ns", "Host time in it but not in inner operators; over all rows it adds up to the time in operators."),
    ns("runtime_ns", "The part of self_ns in calls of the device runtime (PyTorch's self time leaves it out)."),
    Column("kernels", "int64", f"Device activities that it launched itself. {_NO_DEVICE}", "count", True),
    ns("self_device_ns", f"Sum of the durations of those activities. {_NO_DEVICE}", nullable=True),
    ns("self_device_busy_ns", f"Time during which at least one of them ran. {_NO_DEVICE}", nullable=True),
    ns(
        "total_device_ns",
        "Sum of the durations of device activities launched in it or in inner operators; none counts twice where "
        f"an operator calls itself. {_NO_DEVICE}",
        nullable=True,
    ),
)

OPERATORS = TableSchema("operators", "One row per operator; times over all threads.", (*_SUMMARY, RANK, *_TIMES))
OPERATORS_BY_SHAPE = TableSchema(
    "operators_by_shape",
    "One row per operator, shapes and data types of its inputs.",
    (*_SUMMARY, RANK, OP_INPUTS["shapes"], OP_INPUTS["dtypes"], *_TIMES),
)
OPERATORS_BY_STACK = TableSchema(
    "operators_by_stack",
    "One row per operator and Python stack it was called from.",
    (
        *_SUMMARY,
        RANK,
        text("stack", "Innermost line first, lines joined by `;`; null if not recorded.", nullable=True),
        *_TIMES,
    ),
)
OPERATORS_BY_MODULE = TableSchema(
    "operators_by_module",
    "One row per operator and the innermost module or annotation around it, on its own thread.",
    (*_SUMMARY, RANK, text("module", "Module or annotation; null if there is none around it.", nullable=True), *_TIMES),
)

#: The number of each operator's inputs, equal for equal inputs.
_SHAPES_SQL = """
WITH distinct_inputs AS (
    SELECT shapes, dtypes, row_number() OVER () AS code
    FROM (SELECT DISTINCT shapes, dtypes FROM op_inputs WHERE shapes IS NOT NULL)
)
SELECT i.event, d.code FROM op_inputs i JOIN distinct_inputs d
    ON d.shapes = i.shapes AND d.dtypes IS NOT DISTINCT FROM i.dtypes
"""
_INPUTS_SQL = "SELECT event, shapes, dtypes FROM op_inputs WHERE event IN (SELECT unnest($events))"


def operators(trace: Trace) -> Table:
    """Sum up calls of operators by name.

    Raises:
        MissingInputError: The recording has no operators.
    """
    calls = trace.once(operator_calls)
    groups = Groups.by(calls.name)
    return ordered_table(OPERATORS, _columns(trace, calls, groups))


def operators_by_shape(trace: Trace) -> Table:
    """Sum up calls of operators by name and inputs.

    Raises:
        MissingInputError: The recording has no operators, or not their shapes.
    """
    calls = trace.once(operator_calls)
    rows = trace.columns(_SHAPES_SQL)
    if not rows["event"].size:
        raise MissingInputError.of("shapes")
    groups = Groups.by(calls.name, _codes(calls.id, rows["event"], rows["code"]))
    events = calls.id[groups.first]
    found = {row["event"]: row for row in trace.rows(_INPUTS_SQL, {"events": events.tolist()})}
    inputs = [found.get(event, {}) for event in events.tolist()]
    extra = {key: [row.get(key) for row in inputs] for key in ("shapes", "dtypes")}
    return ordered_table(OPERATORS_BY_SHAPE, _columns(trace, calls, groups) | extra, ("shapes", "dtypes"))


def operators_by_stack(trace: Trace) -> Table:
    """Sum up calls of operators by name and Python stack.

    Raises:
        MissingInputError: The recording has no operators, or no stacks.
    """
    calls = trace.once(operator_calls)
    stacks = op_stacks(trace, calls.id)
    groups = Groups.by(calls.name, stacks.code)
    extra = {"stack": stacks.texts(stacks.code[groups.first])}
    return ordered_table(OPERATORS_BY_STACK, _columns(trace, calls, groups) | extra, ("stack",))


def operators_by_module(trace: Trace) -> Table:
    """Sum up calls of operators by name and module.

    Raises:
        MissingInputError: The recording has no operators, or neither modules nor annotations around any.
    """
    calls = trace.once(operator_calls)
    if not (calls.module >= 0).any():
        raise MissingInputError.of("modules")
    groups = Groups.by(calls.name, calls.module)
    extra = {"module": texts(trace, calls.module[groups.first])}
    return ordered_table(OPERATORS_BY_MODULE, _columns(trace, calls, groups) | extra, ("module",))


def _columns(trace: Trace, calls: OperatorCalls, groups: Groups) -> dict[str, Any]:
    """All columns except the keys that rows have besides their name."""
    columns: dict[str, Any] = {"name": texts(trace, calls.name[groups.first]), **groups.summary(calls.dur)}
    columns["total_ns"] = groups.sum(np.where(calls.outermost, calls.dur, 0))
    columns["share"] = shares(columns["total_ns"], int(calls.self_ns.sum()))
    columns["rank"] = np.full(groups.count.size, trace.ranks[0], np.int32)
    columns["self_ns"] = groups.sum(calls.self_ns)
    columns["runtime_ns"] = groups.sum(calls.runtime_ns)
    device = {
        "kernels": groups.sum(calls.kernels),
        "self_device_ns": groups.sum(calls.self_device_ns),
        "self_device_busy_ns": groups.union(calls.starts, calls.ends, groups.index[calls.launched_by]),
        "total_device_ns": groups.sum(np.where(calls.outermost, calls.total_device_ns, 0)),
    }
    if not calls.device:
        return columns | {name: pa.nulls(groups.count.size, pa.int64()) for name in device}
    return columns | device


def _codes(ids: NDArray[np.int64], events: NDArray[np.int64], codes: NDArray[np.int64]) -> NDArray[np.int64]:
    """The code of each id, -1 for those without one."""
    order = np.argsort(events)
    at = np.minimum(np.searchsorted(events, ids, sorter=order), events.size - 1)
    found = order[at]
    return np.where(events[found] == ids, codes[found], -1)


ANALYSES = (
    Analysis(OPERATORS, operators),
    Analysis(OPERATORS_BY_SHAPE, operators_by_shape),
    Analysis(OPERATORS_BY_STACK, operators_by_stack),
    Analysis(OPERATORS_BY_MODULE, operators_by_module),
)
