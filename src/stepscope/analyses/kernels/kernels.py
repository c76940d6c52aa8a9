"""Device time by kernel, by class, by launching operator, and by what is known of its origin."""

from __future__ import annotations

import numpy as np

from stepscope.analyses.registry import Analysis
from stepscope.analyses.shared.grouping import SHARE_SQL, SUMMARY_SQL, Groups, by_name, ordered_table, shares
from stepscope.analyses.shared.needs import need_device
from stepscope.model.events.costs import Costs
from stepscope.model.events.device_work import DeviceWork
from stepscope.model.kernel_names import OP_CLASSES
from stepscope.model.schema import Column, TableSchema, count, flag, fraction, ns, size, summary_columns, text
from stepscope.model.table import Table
from stepscope.model.tables import KERNELS as ACTIVITIES
from stepscope.model.tables import RANK
from stepscope.model.trace import Trace

#: A kernel shorter than this takes about as long to launch as to run (10 µs, as in TraceLens' study of short kernels).
SHORT_NS = 10_000

_SHARE_OF = "the durations of all device activities; concurrent ones each count in full"
_OP_CLASS, _KIND = ACTIVITIES["op_class"], ACTIVITIES["kind"]
_ATTRIBUTION = text(
    "attribution",
    "operator; `graph launch` (replayed by a graph outside every operator), `launch` (launched outside every "
    "operator) or `none` (no launch recorded).",
)

KERNELS = TableSchema(
    "kernels",
    "One row per kernel name, and kind of core that it ran on where that is recorded: device activities of every kind "
    "but waits of queues.",
    (
        *summary_columns("kernel", _SHARE_OF),
        RANK,
        _OP_CLASS,
        _KIND,
        ACTIVITIES["core"],
        ns("p99_ns", "Duration that 99 % do not exceed."),
        count("short", f"How many took less than {SHORT_NS // 1000} µs."),
        flag("tensor_core", "Whether it uses tensor cores, from the name; null if unknown.", nullable=True),
        text("dtype", "Data type of the multiplication, from the name; null if unknown.", nullable=True),
        fraction("occupancy", "Mean estimated occupancy, weighted by duration; null if not recorded.", nullable=True),
        Column("blocks", "int64", "Median number of blocks; null if not recorded.", "count", True),
        Column("threads", "int64", "Median threads per block; null if not recorded.", "count", True),
        Column("registers", "int32", "Most registers per thread; null if not recorded.", "count", True),
        size("shared_bytes", "Most shared memory per block; null if not recorded.", nullable=True),
        count("streams", "On how many device queues it ran."),
    ),
)

_VOLUME = "coalesce({0}[1], 1)::BIGINT * coalesce({0}[2], 1) * coalesce({0}[3], 1)"
_KERNELS_SQL = f"""
SELECT *, {SHARE_SQL} FROM (
    SELECT name, {SUMMARY_SQL}, any_value(op_class ORDER BY ts) AS op_class, kind, core,
        quantile_disc(dur, 0.99)::BIGINT AS p99_ns, count(*) FILTER (WHERE dur < {SHORT_NS}) AS short,
        bool_or(tensor_core) AS tensor_core, any_value(dtype) AS dtype,
        sum(occupancy * dur) / nullif(sum(dur) FILTER (WHERE occupancy IS NOT NULL), 0) AS occupancy,
        quantile_disc({_VOLUME.format("grid")}, 0.5) FILTER (WHERE grid IS NOT NULL) AS blocks,
        quantile_disc({_VOLUME.format("block")}, 0.5) FILTER (WHERE block IS NOT NULL) AS threads,
        max(registers) AS registers, max(shared_bytes) AS shared_bytes, count(DISTINCT track) AS streams
    FROM kernels WHERE kind <> 'sync' GROUP BY name, kind, core
) ORDER BY total_ns DESC, name, kind, core
"""

KERNEL_CLASSES = TableSchema(
    "kernel_classes",
    "One row per class of kernels; `name` is the class.",
    (
        *summary_columns("class", _SHARE_OF),
        RANK,
        count("names", "How many different kernels it has."),
        count("short", f"How many took less than {SHORT_NS // 1000} µs."),
        ns("tensor_core_ns", "Time of those that use tensor cores, as far as their names tell."),
    ),
)

KERNELS_BY_OPERATOR = TableSchema(
    "kernels_by_operator",
    "One row per kernel name and operator that launched it (the innermost one around the launch).",
    (
        *summary_columns("kernel", _SHARE_OF),
        RANK,
        text("operator", "Name of the operator; null if none is known.", nullable=True),
        _ATTRIBUTION,
        _OP_CLASS,
        _KIND,
    ),
)

_ATTRIBUTED_SQL = """
SELECT k.*, n.name AS operator, CASE WHEN k.op IS NOT NULL THEN 'operator' WHEN k.graph IS NOT NULL THEN 'graph launch'
    WHEN k.launch IS NOT NULL THEN 'launch' ELSE 'none' END AS attribution
FROM kernels k LEFT JOIN spans s ON s.id = k.op LEFT JOIN names n USING (name_id) WHERE k.kind <> 'sync'
"""
_BY_OPERATOR_SQL = f"""
SELECT *, {SHARE_SQL} FROM (
    SELECT name, {SUMMARY_SQL}, operator, attribution, any_value(op_class ORDER BY ts) AS op_class, kind
    FROM ({_ATTRIBUTED_SQL}) GROUP BY name, kind, operator, attribution
) ORDER BY total_ns DESC, name, operator, attribution, kind
"""

KERNEL_ATTRIBUTION = TableSchema(
    "kernel_attribution",
    "How much device time is attributed to operators; `name` is as `attribution` of `kernels_by_operator`. What is "
    "not under `operator` is missing from every number by operator.",
    (*summary_columns("attribution", _SHARE_OF), RANK),
)

_ATTRIBUTION_SQL = f"""
SELECT *, {SHARE_SQL} FROM (
    SELECT attribution AS name, {SUMMARY_SQL} FROM ({_ATTRIBUTED_SQL}) GROUP BY attribution
) ORDER BY total_ns DESC, name
"""


def kernels(trace: Trace) -> Table:
    """Sum up device activities by name.

    Raises:
        MissingInputError: The recording has no device activity.
    """
    need_device(trace)
    return by_name(trace, KERNELS, _KERNELS_SQL)


def kernel_classes(trace: Trace) -> Table:
    """Sum up device activities by class.

    Raises:
        MissingInputError: The recording has no device activity.
    """
    need_device(trace)
    work, costs = DeviceWork.of(trace), Costs.of(trace)
    at = np.flatnonzero(~work.are("sync"))
    dur = work.dur[at]
    groups = Groups.by(work.op_class[at])
    total = groups.sum(dur)
    names = Groups.by(work.op_class[at], work.name[at])
    columns = {
        **groups.summary(dur),
        "name": [OP_CLASSES[op_class] for op_class in work.op_class[at[groups.first]].tolist()],
        "share": shares(total, int(total.sum())),
        "rank": np.full(total.size, trace.ranks[0]),
        "names": np.bincount(groups.index[names.first], minlength=total.size),
        "short": groups.sum(dur < SHORT_NS),
        "tensor_core_ns": groups.sum(np.where(costs.tensor_core[at] == 1, dur, 0)),
    }
    return ordered_table(KERNEL_CLASSES, columns)


def kernels_by_operator(trace: Trace) -> Table:
    """Sum up device activities by name and launching operator.

    Raises:
        MissingInputError: The recording has no device activity.
    """
    need_device(trace)
    return by_name(trace, KERNELS_BY_OPERATOR, _BY_OPERATOR_SQL)


def kernel_attribution(trace: Trace) -> Table:
    """Sum up device activities by what is known of their origin.

    Raises:
        MissingInputError: The recording has no device activity.
    """
    need_device(trace)
    return by_name(trace, KERNEL_ATTRIBUTION, _ATTRIBUTION_SQL)


ANALYSES = (
    Analysis(KERNELS, kernels),
    Analysis(KERNEL_CLASSES, kernel_classes),
    Analysis(KERNELS_BY_OPERATOR, kernels_by_operator),
    Analysis(KERNEL_ATTRIBUTION, kernel_attribution),
)
