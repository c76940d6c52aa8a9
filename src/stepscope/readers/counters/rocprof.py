"""Read `pmc_perf.csv` of rocprof-compute (and its predecessor Omniperf): a row per dispatch, a column per counter.

Derived: hits in L2 = TCC_HIT / (TCC_HIT + TCC_MISS); part of the active cycles of LDS that its bank conflicts take =
SQ_LDS_BANK_CONFLICT / SQ_LDS_IDX_ACTIVE (ROCm Compute Profiler documentation, "L2 cache" and "Local data share", which
gives conflicts per cycle without).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from stepscope.readers.counters.launch import ProfiledLaunch, number

TOOL: Final = "rocprof-compute"
#: Spellings of the columns that describe a dispatch.
_NAME: Final = ("Kernel_Name", "KernelName")
_START: Final = ("Start_Timestamp", "BeginNs")
_END: Final = ("End_Timestamp", "EndNs")
_DESCRIPTION: Final = frozenset({
    *_NAME, *_START, *_END, "Dispatch_ID", "GPU_ID", "gpu-id", "Index", "Queue_ID", "queue-id", "Queue_Index", "PID",
    "TID", "Kernel_ID", "Correlation_ID", "Grid_Size", "grd", "Workgroup_Size", "wgr", "obj", "sig", "XCC", "Node",
    "Agent_ID",
})  # fmt: skip
_REGISTERS: Final = {"Arch_VGPR": "registers", "arch_vgpr": "registers"}
_SHARED: Final = {"LDS_Per_Workgroup": "shared_bytes", "lds": "shared_bytes"}


def is_header(cells: Sequence[str]) -> bool:
    """Whether cells are the header of such a table."""
    told = set(cells)
    return bool(told & set(_NAME)) and bool(told & {"Grid_Size", "grd"}) and bool(told & {"Workgroup_Size", "wgr"})


def launch_of(row: Mapping[str, str]) -> ProfiledLaunch:
    """The dispatch of a row."""

    def first(names: Sequence[str]) -> str | None:
        return next((row[name] for name in names if row.get(name)), None)

    start, end = number(first(_START)), number(first(_END))
    threads, group = number(first(("Grid_Size", "grd"))), number(first(("Workgroup_Size", "wgr")))
    device = number(first(("GPU_ID", "gpu-id")))
    found = ProfiledLaunch(
        TOOL, first(_NAME) or "kernel", None if start is None or end is None or end < start else round(end - start),
        # HIP counts threads where CUDA counts blocks.
        None if not threads or not group else (max(int(threads // group), 1), 1, 1),
        None if not group else (int(group), 1, 1), None if device is None else int(device),
    )  # fmt: skip
    for column, text in row.items():
        value = number(text)
        if column and column not in _DESCRIPTION and value is not None:
            found.values[_REGISTERS.get(column) or _SHARED.get(column) or column] = value
    hits, misses = (found.values.get(f"TCC_{what}_sum") for what in ("HIT", "MISS"))
    if hits is not None and misses is not None and hits + misses > 0:
        found.values["l2_hit_rate"] = hits / (hits + misses)
    active, conflict = found.values.get("SQ_LDS_IDX_ACTIVE"), found.values.get("SQ_LDS_BANK_CONFLICT")
    if active and conflict is not None:
        found.values["bank_conflicts"] = min(conflict / active, 1.0)
    return found
