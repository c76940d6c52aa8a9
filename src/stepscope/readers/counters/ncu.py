"""Read what `ncu --csv` writes, live or from a report, as its page `raw` or `details`.

`details` has a row per launch and metric, with the metric's label in its section; `raw`, and `--metrics` live, have the
metrics' own names: `raw` a column of each, and a row of units behind the header. The program's own output and lines of
`==PROF==` may stand before and behind the table (Nsight Compute CLI documentation, "Command line options", "Console
output").
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from stepscope.readers.counters.launch import ProfiledLaunch, number, scaled, sizes

TOOL: Final = "ncu"
_KEYS: Final = frozenset({
    "ID", "Process ID", "Process Name", "Host Name", "Kernel Name", "Kernel Time", "Context", "Stream", "Block Size",
    "Grid Size", "Device", "CC", "Section Name", "Metric Name", "Metric Unit", "Metric Value", "Rule Name", "Rule Type",
    "Rule Description", "Estimated Speedup Type", "Estimated Speedup", "Invocations", "Minimum", "Maximum", "Average",
})  # fmt: skip

#: The tables' names of metrics that are told under several: labels of page `details`, and own names. Of the latter some
#: are by architecture.
NAMES: Final[Mapping[str, str]] = {
    "Duration": "dur", "gpu__time_duration.sum": "dur", "gpu__time_duration_measured_user.sum": "dur",
    "Achieved Occupancy": "occupancy", "sm__warps_active.avg.pct_of_peak_sustained_active": "occupancy",
    "Theoretical Occupancy": "theoretical_occupancy", "sm__maximum_warps_per_active_cycle_pct": "theoretical_occupancy",
    "Eligible Warps Per Scheduler": "eligible_warps", "smsp__warps_eligible.avg.per_cycle_active": "eligible_warps",
    "Active Warps Per Scheduler": "active_warps", "smsp__warps_active.avg.per_cycle_active": "active_warps",
    "No Eligible": "no_eligible", "smsp__issue_inst0.avg.pct_of_peak_sustained_active": "no_eligible",
    "L1/TEX Hit Rate": "l1_hit_rate", "l1tex__t_sector_hit_rate.pct": "l1_hit_rate",
    "L2 Hit Rate": "l2_hit_rate", "lts__t_sector_hit_rate.pct": "l2_hit_rate",
    "DRAM Throughput": "memory_busy", "dram__throughput.avg.pct_of_peak_sustained_elapsed": "memory_busy",
    "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed": "memory_busy",
    "Compute (SM) Throughput": "compute_busy", "sm__throughput.avg.pct_of_peak_sustained_elapsed": "compute_busy",
    "Registers Per Thread": "registers", "launch__registers_per_thread": "registers",
    "launch__shared_mem_per_block": "shared_bytes", "Block Limit Registers": "limit_registers",
    "launch__occupancy_limit_registers": "limit_registers", "Block Limit Shared Mem": "limit_shared",
    "launch__occupancy_limit_shared_mem": "limit_shared", "Block Limit Warps": "limit_warps",
    "launch__occupancy_limit_warps": "limit_warps", "Block Limit SM": "limit_blocks",
    "launch__occupancy_limit_blocks": "limit_blocks",
    "Waves Per SM": "waves", "launch__waves_per_multiprocessor": "waves",
    "Dynamic Shared Memory Per Block": "dynamic_shared_bytes", "Static Shared Memory Per Block": "static_shared_bytes",
    "smsp__inst_executed_op_local_ld.sum": "spill_loads", "smsp__inst_executed_op_local_st.sum": "spill_stores",
}  # fmt: skip
#: Warps that wait for a reason, per instruction issued: `smsp__average_warps_issue_stalled_barrier_per_issue_active`.
_STALL: Final = re.compile(
    r"smsp__average_warps?_(?:latency_)?issue_stalled_(\w+?)(?:_not_issued)?_per_(?:issue_active|warp_active)"
    r"(?:\.ratio|\.pct)?$|Stall (.+)$"
)
#: A share of two counters, or of sums of them.
_SHARES: Final = (
    ("sectors_per_load", ("l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",),
     ("l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum",)),
    ("sectors_per_store", ("l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum",),
     ("l1tex__t_requests_pipe_lsu_mem_global_op_st.sum",)),
    ("excessive_sectors", ("derived__memory_l2_theoretical_sectors_global_excessive",),
     ("memory_l2_theoretical_sectors_global",)),
    ("bank_conflicts", ("l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum",),
     ("l1tex__data_pipe_lsu_wavefronts_mem_shared.sum",)),
    ("bank_conflicts", ("l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum",
                        "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum"),
     ("l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum", "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum")),
)  # fmt: skip
_RATIOS: Final = {
    "smsp__sass_average_data_bytes_per_sector_mem_global_op_ld.ratio": "bytes_per_sector_load",
    "smsp__sass_average_data_bytes_per_sector_mem_global_op_st.ratio": "bytes_per_sector_store",
    "l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_ld.ratio": "sectors_per_load",
    "l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_st.ratio": "sectors_per_store",
}


def is_header(cells: Sequence[str]) -> bool:
    """Whether cells are the header of such a table."""
    return "Kernel Name" in cells and ("Metric Name" in cells or any(".sum" in one or "__" in one for one in cells))


def launches(rows: Iterable[Sequence[str]], header: Sequence[str]) -> Iterator[ProfiledLaunch]:
    """The launches in the rows below the header, in order."""
    if "Metric Name" in header:
        yield from _by_metric(rows, header)
    else:
        yield from _by_launch(rows, header)


def _by_metric(rows: Iterable[Sequence[str]], header: Sequence[str]) -> Iterator[ProfiledLaunch]:
    at = {name: place for place, name in enumerate(header)}
    current: ProfiledLaunch | None = None
    key: tuple[str, str, str] | None = None
    for cells in rows:
        if len(cells) < len(header) - 3 or len(cells) <= at["Metric Value"]:
            continue
        row = {name: cells[place] if place < len(cells) else "" for name, place in at.items()}
        this = (row.get("Process ID", ""), row.get("ID", ""), row["Kernel Name"])
        if current is None or this != key:
            if current is not None:
                yield _finished(current)
            current, key = _launch(row), this
        _take(current, row["Metric Name"], row.get("Metric Unit", ""), row["Metric Value"])
    if current is not None:
        yield _finished(current)


def _by_launch(rows: Iterable[Sequence[str]], header: Sequence[str]) -> Iterator[ProfiledLaunch]:
    units: Sequence[str] = ()
    name_at = list(header).index("Kernel Name")
    for cells in rows:
        if len(cells) != len(header):
            continue
        if not cells[name_at].strip():
            units = cells
            continue
        found = _launch(dict(zip(header, cells, strict=True)))
        for place, name in enumerate(header):
            if name not in _KEYS:
                _take(found, name, units[place] if units else "", cells[place])
        yield _finished(found)


def _launch(row: Mapping[str, str]) -> ProfiledLaunch:
    device = number(row.get("Device"))
    return ProfiledLaunch(
        TOOL, row["Kernel Name"], grid=sizes(row.get("Grid Size")), block=sizes(row.get("Block Size")),
        device=None if device is None else int(device),
    )  # fmt: skip


def _take(launch: ProfiledLaunch, name: str, unit: str, text: str) -> None:
    value = number(text)
    if value is None or not name:
        return
    known = NAMES.get(name) or _RATIOS.get(name)
    if known is None and (stall := _STALL.match(name)):
        known = "stall_" + re.sub(r"\W+", "_", (stall[1] or stall[2]).lower())
    amount = scaled(value, unit)
    if not unit and known in ("occupancy", "theoretical_occupancy", "l1_hit_rate", "l2_hit_rate", "no_eligible",
                              "memory_busy", "compute_busy"):  # fmt: skip
        amount = value / 100
    # Labels repeat in several sections, with one value.
    launch.values.setdefault(known or name, amount)


def _finished(launch: ProfiledLaunch) -> ProfiledLaunch:
    values = launch.values
    if "dur" in values:
        launch.dur = round(values.pop("dur"))
    for name, of, over in _SHARES:
        if name not in values and all(part in values for part in (*of, *over)):
            whole = sum(values[part] for part in over)
            if whole > 0:
                values[name] = sum(values[part] for part in of) / whole
    if "shared_bytes" not in values and {"dynamic_shared_bytes", "static_shared_bytes"} & values.keys():
        values["shared_bytes"] = values.get("dynamic_shared_bytes", 0.0) + values.get("static_shared_bytes", 0.0)
    return launch
