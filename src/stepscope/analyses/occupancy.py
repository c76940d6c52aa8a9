"""How well launches fill the device: waves of blocks, the tail of the last one, occupancy.

The number of blocks that a multiprocessor holds at once follows from its threads, registers and shared memory (CUDA
C++ Programming Guide, "Hardware Implementation"). Limits that are not recorded do not count: granularities of
allocation, the limit on blocks and, from some recorders, registers and shared memory. So the true number can be
lower, and waves higher.
"""

from __future__ import annotations

from typing import Final

from stepscope.analyses.grouping import SHARE_SQL, SUMMARY_SQL, by_name
from stepscope.analyses.peaks import LIMITS_SQL
from stepscope.analyses.registry import Analysis
from stepscope.model.errors import MissingInputError
from stepscope.model.schema import Column, TableSchema, fraction, number, summary_columns, text
from stepscope.model.table import Table
from stepscope.model.tables import RANK
from stepscope.model.trace import Trace

OCCUPANCY = TableSchema(
    "occupancy",
    "Kernels whose grid was recorded, by name. Numbers that differ between launches are means weighted by duration.",
    (
        *summary_columns("kernel", "the time of all kernels whose grid was recorded"),
        RANK,
        Column("device", "int32", "Device index; null if not recorded.", "", True),
        number("blocks", "Blocks of a launch.", "count"),
        number("threads", "Threads per block.", "count"),
        number("registers", "Registers per thread; null if not recorded.", "count", nullable=True),
        number("shared_bytes", "Shared memory per block; null if not recorded.", "bytes", nullable=True),
        number("resident_blocks", "Blocks that a multiprocessor can hold at once; null if its limits are not recorded.",
               "count", nullable=True),
        text("limit", "What limits them in most of the time: threads, registers or shared memory; null likewise.",
             nullable=True),
        number("waves", "blocks / (multiprocessors x resident blocks): how often the device is filled.", nullable=True),
        fraction("tail", "Share of the places for blocks in all started waves that stay empty: 0 if the last wave is "
                 "full.", nullable=True),
        fraction("fill", "min(blocks / multiprocessors, 1): share of multiprocessors that get a block.", nullable=True),
        fraction("theoretical_occupancy", "Resident threads as a share of what a multiprocessor can hold.",
                 nullable=True),
        fraction("achieved_occupancy", "Estimated occupancy as recorded; null if not.", nullable=True),
    ),
)  # fmt: skip

#: As doubles, which hold every product that occurs and overflow for none.
_PRODUCT: Final = "(coalesce({0}[1], 1)::DOUBLE * coalesce({0}[2], 1) * coalesce({0}[3], 1))"


def _mean(column: str) -> str:
    return f"sum({column}::DOUBLE * weight) / sum(weight) FILTER (WHERE {column} IS NOT NULL) AS {column}"


#: A kernel of no recorded duration has the weight of 1 ns.
_SQL: Final = f"""
WITH launches AS (
    SELECT k.name, coalesce(k.device, -1) AS device, k.dur, greatest(k.dur, 1)::DOUBLE AS weight,
        {_PRODUCT.format("k.grid")} AS blocks, {_PRODUCT.format("k.block")} AS threads, k.registers, k.shared_bytes,
        k.occupancy AS achieved_occupancy, d.sms, d.max_threads_per_sm AS most,
        -- Threads of a block take whole warps.
        ceil({_PRODUCT.format("k.block")} / coalesce(d.warp_size, 32)) * coalesce(d.warp_size, 32) AS used,
        d.registers_per_sm, d.shared_bytes_per_sm
    FROM kernels k LEFT JOIN ({LIMITS_SQL}) d ON d.device IS NOT DISTINCT FROM k.device
    WHERE k.kind = 'compute' AND k.grid IS NOT NULL AND k.block IS NOT NULL
), limited AS (
    SELECT *, floor(most / nullif(used, 0)) AS by_threads,
        floor(registers_per_sm / nullif(registers * used, 0)) AS by_registers,
        floor(shared_bytes_per_sm / nullif(shared_bytes, 0)) AS by_shared
    FROM launches
), resident AS (
    SELECT *, CASE WHEN fit >= 0 THEN greatest(fit, 1) END AS resident_blocks,
        CASE fit WHEN by_threads THEN 'threads' WHEN by_registers THEN 'registers' WHEN by_shared THEN 'shared memory'
            END AS limiting
    FROM (SELECT *, least(by_threads, by_registers, by_shared) AS fit FROM limited WHERE blocks > 0 AND threads > 0)
), measured AS (
    SELECT *, blocks / (sms * resident_blocks)::DOUBLE AS waves,
        CASE WHEN sms > 0 THEN least(blocks / sms::DOUBLE, 1) END AS fill,
        1 - waves / ceil(waves) AS tail,
        CASE WHEN resident_blocks > 0 THEN least(resident_blocks * used / most::DOUBLE, 1) END AS theoretical_occupancy
    FROM resident
), by_limit AS (
    SELECT name, device, arg_max(limiting, time) AS "limit"
    FROM (SELECT name, device, limiting, sum(weight) AS time FROM measured WHERE limiting IS NOT NULL GROUP BY ALL)
    GROUP BY ALL
), sums AS (
    SELECT name, device, {SUMMARY_SQL}, {_mean("blocks")}, {_mean("threads")}, {_mean("registers")},
        {_mean("shared_bytes")}, {_mean("resident_blocks")}, {_mean("waves")}, {_mean("tail")}, {_mean("fill")},
        {_mean("theoretical_occupancy")}, {_mean("achieved_occupancy")}
    FROM measured GROUP BY name, device
)
SELECT s.* REPLACE (nullif(s.device, -1) AS device), l."limit", {SHARE_SQL}
FROM sums s LEFT JOIN by_limit l USING (name, device)
ORDER BY total_ns DESC, name, device
"""


def occupancy(trace: Trace) -> Table:
    """Measure how kernels fill their device.

    Raises:
        MissingInputError: No kernel's grid was recorded.
    """
    if not trace.scalar("SELECT count(*) FROM kernels WHERE kind = 'compute' AND grid IS NOT NULL"):
        raise MissingInputError.of("grids")
    return by_name(trace, OCCUPANCY, _SQL)


ANALYSES = (Analysis(OCCUPANCY, occupancy),)
