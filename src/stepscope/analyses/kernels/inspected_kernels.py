"""Kernels that a kernel profiler looked into, beside what the recording has of them."""

from __future__ import annotations

from typing import Any, Final

from stepscope.analyses.registry import Analysis
from stepscope.model.errors import MissingInputError
from stepscope.model.kernel_names.parse import parse
from stepscope.model.schema import Column, TableSchema, count, fraction, ns, number, size, text
from stepscope.model.table import Table
from stepscope.model.tables import RANK
from stepscope.model.trace import Trace

INSPECTED_KERNELS: Final = TableSchema(
    "inspected_kernels",
    "One row per launch that Nsight Compute, `msprof op` or rocprof-compute counted, with the launches of the "
    "recording that it stands for: those with its name, and with its grid and block where both are recorded. "
    "`kernel_counters` has all numbers.",
    (
        text("name", "Name of the kernel."),
        RANK,
        text("tool", "ncu, msprof op or rocprof-compute."),
        Column("launch", "int32", "Number of the launch among those that were profiled.", "id"),
        ns("profiled_ns", "Its duration as counted; null if not.", nullable=True),
        count("count", "How many launches of the recording it stands for."),
        ns("total_ns", "Their time."),
        fraction("share", "The same as a share of all compute kernels; 0 where none is recorded."),
        fraction("occupancy", "Achieved occupancy.", nullable=True),
        text("limited_by", "What limits the blocks per SM: registers, shared memory, warps or blocks; null if not "
             "counted.", nullable=True),
        number("eligible_warps", "Warps per scheduler that could issue, on average.", nullable=True),
        text("stall", "The reason that warps wait longest for.", nullable=True),
        number("stall_cycles", "Warps that wait for it, per instruction issued.", nullable=True),
        number("sectors_per_load", "Sectors of 32 bytes per request to load global memory.", nullable=True),
        number("sectors_per_store", "The same of stores.", nullable=True),
        fraction("bank_conflicts", "Part of the accesses to shared memory (NPU: of the cycles of vector instructions) "
                 "that repeats others because of bank conflicts.", nullable=True),
        fraction("l1_hit_rate", "Hits in L1.", nullable=True),
        fraction("l2_hit_rate", "Hits in L2.", nullable=True),
        fraction("memory_busy", "Throughput of the device's memory as a share of its peak.", nullable=True),
        fraction("compute_busy", "Throughput of the SMs as a share of their peak.", nullable=True),
        Column("registers", "int64", "Registers per thread.", "count", True),
        size("shared_bytes", "Shared memory per block.", nullable=True),
    ),
)  # fmt: skip

_COUNTERS_SQL: Final = """
SELECT launch, tool, name, base, dur, grid, block, metric, value FROM kernel_counters ORDER BY tool, launch
"""
_RECORDED_SQL: Final = """
SELECT name, grid, block, count(*) AS number, sum(dur)::BIGINT AS total, any_value(op_type) AS op_type
FROM kernels WHERE kind = 'compute' GROUP BY 1, 2, 3
"""
#: Blocks that fit on an SM by each limit, by what the tables call it; warps are what it is made for.
_LIMITS: Final = (("limit_registers", "registers"), ("limit_shared", "shared memory"), ("limit_blocks", "blocks"),
                  ("limit_warps", "warps"))  # fmt: skip
_STALL: Final = "stall_"
#: Having just issued is no stall.
_NOT_STALLED: Final = ("stall_selected", "stall_not_selected")
_NUMBERS: Final = (
    "occupancy", "eligible_warps", "sectors_per_load", "sectors_per_store", "bank_conflicts", "l1_hit_rate",
    "l2_hit_rate", "memory_busy", "compute_busy", "registers", "shared_bytes",
)  # fmt: skip


def inspected_kernels(trace: Trace) -> Table:
    """Put counters of profiled launches beside the recorded kernels.

    Raises:
        MissingInputError: No kernel profiler's results are beside the recording.
    """
    launches: dict[tuple[str, int, str], dict[str, Any]] = {}
    for row in trace.rows(_COUNTERS_SQL):
        one = launches.setdefault((row["tool"], row["launch"], row["name"]), {**row, "values": {}})
        one["values"][row["metric"]] = row["value"]
    if not launches:
        raise MissingInputError.of("kernel_counters")
    recorded = [{**row, "base": parse(row["name"]).base or row["name"]} for row in trace.rows(_RECORDED_SQL)]
    whole = sum(row["total"] for row in recorded)
    return Table.from_rows(
        INSPECTED_KERNELS, [_row(trace.ranks[0], one, _same(one, recorded), whole) for one in launches.values()]
    )


def _same(one: dict[str, Any], recorded: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Recorded kernels that a profiled launch stands for."""
    named = [row for row in recorded if row["base"] == one["base"] or row["op_type"] == one["base"]]
    alike = [
        row for row in named
        if row["grid"] is not None and row["grid"] == one["grid"] and row["block"] == one["block"]
    ]  # fmt: skip
    return alike or named


def _row(rank: int, one: dict[str, Any], same: list[dict[str, Any]], whole: int) -> tuple[Any, ...]:
    values: dict[str, float] = one["values"]
    total = sum(row["total"] for row in same)
    limits = [(values[key], word) for key, word in _LIMITS if key in values]
    stalls = [(value, name) for name, value in values.items() if name.startswith(_STALL) and name not in _NOT_STALLED]
    stall = max(stalls, default=None)
    told = {name: values.get(name) for name in _NUMBERS}
    columns = {
        "name": max(same, key=lambda row: row["total"])["name"] if same else one["name"], "rank": rank,
        "tool": one["tool"], "launch": one["launch"], "profiled_ns": one["dur"],
        "count": sum(row["number"] for row in same), "total_ns": total, "share": total / whole if whole else 0.0,
        **told,
        "registers": None if told["registers"] is None else int(told["registers"]),
        "shared_bytes": None if told["shared_bytes"] is None else int(told["shared_bytes"]),
        "limited_by": min(limits, key=lambda pair: pair[0])[1] if limits else None,
        "stall": None if stall is None else stall[1].removeprefix(_STALL),
        "stall_cycles": None if stall is None else stall[0],
    }  # fmt: skip
    return tuple(columns[column.name] for column in INSPECTED_KERNELS.columns)


ANALYSES = (Analysis(INSPECTED_KERNELS, inspected_kernels),)
