"""Waves, tail and occupancy of launches.

The number of blocks that an SM holds at once follows from its threads, registers and shared memory (CUDA C++
Programming Guide, "Hardware Implementation"). Limits that are not recorded are left out: allocation granularities, the
limit on blocks and, from some recorders, registers and shared memory. So the true number can be lower, and the waves
more.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from stepscope.analyses.registry import Analysis
from stepscope.analyses.shared.grouping import Groups, nullable, ordered_table, shares, texts
from stepscope.analyses.shared.peaks import LIMITS_SQL
from stepscope.model.errors import MissingInputError
from stepscope.model.events.device_work import DeviceWork
from stepscope.model.schema import Column, TableSchema, fraction, number, summary_columns, text
from stepscope.model.table import Table
from stepscope.model.tables import RANK
from stepscope.model.trace import Trace

_MEANS: Final = "Numbers that differ between launches are means weighted by duration."
_COLUMNS: Final = (
    *summary_columns("kernel", "the time of all kernels whose grid was recorded"),
    RANK,
    Column("device", "int32", "Device index; null if not recorded.", "", True),
    number("blocks", "Blocks of a launch.", "count"),
    number("threads", "Threads per block.", "count"),
    number("registers", "Registers per thread; null if not recorded.", "count", nullable=True),
    number("shared_bytes", "Shared memory per block; null if not recorded.", "bytes", nullable=True),
    number("resident_blocks", "Blocks that an SM can hold at once; null if its limits are not recorded.",
           "count", nullable=True),
    text("limit", "What limits them in most of the time: threads, registers or shared memory; null likewise.",
         nullable=True),
    number("waves", "blocks / (SMs x resident blocks): how often the device is filled.", nullable=True),
    fraction("tail", "Share of the places for blocks in all started waves that stay empty: 0 if the last wave is "
             "full.", nullable=True),
    fraction("fill", "min(blocks / SMs, 1): share of SMs that get a block.", nullable=True),
    fraction("theoretical_occupancy", "Resident threads as a share of what an SM can hold.",
             nullable=True),
    fraction("achieved_occupancy", "Estimated occupancy as recorded; null if not.", nullable=True),
)  # fmt: skip
OCCUPANCY: Final = TableSchema("occupancy", f"Kernels whose grid was recorded, by name. {_MEANS}", _COLUMNS)
OCCUPANCY_GRIDS: Final = TableSchema(
    "occupancy_grids",
    f"Kernels whose grid was recorded, by name and number of blocks, so that launches of another size show. {_MEANS}",
    _COLUMNS,
)

#: As doubles, which hold the largest values that occur without overflow.
_VOLUME: Final = "(coalesce({0}[1], 1)::DOUBLE * coalesce({0}[2], 1) * coalesce({0}[3], 1))"
_SQL: Final = f"""
SELECT event, {_VOLUME.format("grid")} AS blocks, {_VOLUME.format("block")} AS threads,
    coalesce(registers::DOUBLE, 'nan') AS registers, coalesce(shared_bytes::DOUBLE, 'nan') AS shared_bytes,
    coalesce(occupancy::DOUBLE, 'nan') AS achieved_occupancy
FROM kernels WHERE kind = 'compute' AND grid IS NOT NULL AND block IS NOT NULL
"""
_GRIDS_SQL: Final = "SELECT count(*) FROM kernels WHERE kind = 'compute' AND grid IS NOT NULL"
#: What limits the resident blocks, by its position.
_LIMITS: Final = ("threads", "registers", "shared memory")

Columns = dict[str, "NDArray[np.float64]"]


def occupancy(trace: Trace) -> Table:
    """Measure how kernels fill their device.

    Raises:
        MissingInputError: No kernel's grid was recorded.
    """
    return _table(trace, OCCUPANCY)


def occupancy_grids(trace: Trace) -> Table:
    """The same for each number of blocks.

    Raises:
        MissingInputError: No kernel's grid was recorded.
    """
    return _table(trace, OCCUPANCY_GRIDS)


def _table(trace: Trace, schema: TableSchema) -> Table:
    work, rows = DeviceWork.of(trace), trace.once(_launches)
    at = work.rows(trace, rows["event"])
    dur, device = work.dur[at], work.device[at]
    sizes = np.unique(rows["blocks"], return_inverse=True)[1].reshape(-1)
    groups = Groups.by(work.name[at], device, *([sizes] if schema is OCCUPANCY_GRIDS else []))
    first, total = groups.first, groups.sum(dur)
    weight = np.maximum(dur, 1).astype(np.float64)  # a kernel of no recorded duration has the weight of 1 ns
    measured, limiting = _measured(rows, _limits(trace, device))
    columns: dict[str, Any] = {
        **groups.summary(dur),
        "name": texts(trace, work.name[at[first]]),
        "share": shares(total, int(total.sum())),
        "rank": np.full(first.size, trace.ranks[0]),
        "device": nullable(device[first], device[first] < 0),
        "limit": _most(groups, limiting, weight),
        **{name: _mean(groups, values, weight) for name, values in (rows | measured).items() if name != "event"},
    }
    return ordered_table(schema, columns, ("device", "blocks"))


def _launches(trace: Trace) -> dict[str, NDArray[Any]]:
    """Kernels with a grid that can be, by column."""
    rows = trace.columns(_SQL)
    if not rows["event"].size and not trace.scalar(_GRIDS_SQL):
        raise MissingInputError.of("grids")
    real = (rows["blocks"] > 0) & (rows["threads"] > 0)
    return rows if real.all() else {name: values[real] for name, values in rows.items()}


def _limits(trace: Trace, device: NDArray[np.int32]) -> Columns:
    """What SMs of each activity's device can hold; NaN where not recorded."""
    found = {-1 if row["device"] is None else row["device"]: row for row in trace.rows(LIMITS_SQL)}
    names = ("sms", "max_threads_per_sm", "registers_per_sm", "shared_bytes_per_sm", "warp_size")
    limits = {name: np.full(device.size, np.nan) for name in names}
    for one in np.unique(device).tolist():
        mine = device == one
        for name in names:
            value = found.get(one, {}).get(name)
            limits[name][mine] = np.nan if value is None else value
    return limits


def _measured(rows: Columns, limits: Columns) -> tuple[Columns, NDArray[np.int8]]:
    """How each launch fills its device, NaN where unknown, and the index in `_LIMITS` of its limit, -1 likewise."""
    blocks, sms, most = rows["blocks"], limits["sms"], limits["max_threads_per_sm"]
    warp = np.where(np.isnan(limits["warp_size"]), 32, limits["warp_size"])
    used = np.ceil(rows["threads"] / warp) * warp  # threads of a block take whole warps
    with np.errstate(divide="ignore", invalid="ignore"):
        by_limit = (
            np.floor(most / used),
            np.floor(limits["registers_per_sm"] / _positive(rows["registers"] * used)),
            np.floor(limits["shared_bytes_per_sm"] / _positive(rows["shared_bytes"])),
        )
        fit = np.fmin(np.fmin(by_limit[0], by_limit[1]), by_limit[2])
        resident = np.where(fit >= 0, np.maximum(fit, 1), np.nan)
        waves = blocks / (sms * resident)
        measured = {
            "resident_blocks": resident,
            "waves": waves,
            "tail": 1 - waves / np.ceil(waves),
            "fill": np.where(sms > 0, np.minimum(blocks / sms, 1), np.nan),
            "theoretical_occupancy": np.where(resident > 0, np.fmin(resident * used / most, 1), np.nan),
        }
    limiting = np.full(fit.size, -1, np.int8)
    for position in reversed(range(len(_LIMITS))):
        limiting[by_limit[position] == fit] = position
    return measured, limiting


def _positive(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """The values with NaN for 0, since a resource that is not used limits nothing."""
    return np.where(values == 0, np.nan, values)


def _mean(groups: Groups, values: NDArray[np.float64], weight: NDArray[np.float64]) -> list[float | None]:
    """Mean of the known values of each group, weighted; None if none is known."""
    known = ~np.isnan(values)
    size = groups.count.size
    whole = np.bincount(groups.index[known], weight[known], size)
    total = np.bincount(groups.index[known], values[known] * weight[known], size)
    return [part / of if of else None for part, of in zip(total.tolist(), whole.tolist(), strict=True)]


def _most(groups: Groups, limiting: NDArray[np.int8], weight: NDArray[np.float64]) -> list[str | None]:
    """The limit of each group that holds for most of its time; None if unknown."""
    known = limiting >= 0
    time = np.zeros((groups.count.size, len(_LIMITS)))
    np.add.at(time, (groups.index[known], limiting[known]), weight[known])
    some = time.max(1) > 0
    return [_LIMITS[most] if has else None for most, has in zip(time.argmax(1).tolist(), some.tolist(), strict=True)]


ANALYSES = (Analysis(OCCUPANCY, occupancy), Analysis(OCCUPANCY_GRIDS, occupancy_grids))
