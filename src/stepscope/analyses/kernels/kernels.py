"""Device time by kernel and by class."""

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

SHARE_OF = "the durations of all device activities; concurrent ones each count in full"
_OP_CLASS, _KIND = ACTIVITIES["op_class"], ACTIVITIES["kind"]

KERNELS = TableSchema(
    "kernels",
    "One row per kernel name, and kind of core that it ran on where that is recorded: device activities of every kind "
    "but waits of queues.",
    (
        *summary_columns("kernel", SHARE_OF),
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
        *summary_columns("class", SHARE_OF),
        RANK,
        count("names", "How many different kernels it has."),
        count("short", f"How many took less than {SHORT_NS // 1000} µs."),
        ns("tensor_core_ns", "Time of those that use tensor cores, as far as their names tell."),
    ),
)


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


ANALYSES = (Analysis(KERNELS, kernels), Analysis(KERNEL_CLASSES, kernel_classes))
