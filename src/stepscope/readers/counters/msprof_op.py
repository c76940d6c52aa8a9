"""Read the CSV files of `msprof op`: a folder per kernel, a file per set of counters, and a row per core in each.

What a core counted is averaged over the cores that the kernel ran on (msOpProf user guide, "Performance data"). Rates
of hits in L2 come in per cent there, ratios as shares.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from stepscope.readers.counters.launch import ProfiledLaunch, number, scaled

TOOL: Final = "msprof op"
BASIC: Final = "OpBasicInfo"
FILES: Final = (
    BASIC, "PipeUtilization", "ArithmeticUtilization", "L2Cache", "Memory", "MemoryL0", "MemoryUB",
    "ResourceConflictRatio",
)  # fmt: skip
#: Columns that say of which core a row is.
_PLACES: Final = frozenset({"block_id", "sub_block_id"})
_UNIT: Final = re.compile(r"(.+?)\((us|%|GB/s|KB)\)$")
_UNITS: Final = {"us": "us", "%": "%", "GB/s": "gbyte/s", "KB": "kib"}
_NAMES: Final = {"aic_total_hit_rate": "l2_hit_rate", "aiv_total_hit_rate": "l2_hit_rate"}


def is_header(cells: Sequence[str]) -> bool:
    """Whether cells are the header of one of the files."""
    told = set(cells)
    described = {"Op Name", "Op Type", "Task Duration(us)"} <= told and "Task Start Time(us)" not in told
    return described or {"block_id", "sub_block_id"} <= told


def launch_of(basic: Mapping[str, str]) -> ProfiledLaunch:
    """The launch that `OpBasicInfo.csv` describes."""
    dur = number(basic.get("Task Duration(us)"))
    blocks = number(basic.get("Block Dim") or basic.get("Block Num"))
    device = number(basic.get("Device Id"))
    return ProfiledLaunch(
        TOOL, basic.get("Op Name") or "kernel", None if dur is None else round(dur * 1e3),
        None if blocks is None else (int(blocks), 1, 1), device=None if device is None else int(device),
    )  # fmt: skip


def add_cores(launch: ProfiledLaunch, rows: Iterable[Mapping[str, str]]) -> None:
    """Add the means over cores of each column."""
    sums: dict[str, list[float]] = {}
    for row in rows:
        for column, text in row.items():
            value = number(text)
            if column in _PLACES or value is None:
                continue
            match = _UNIT.match(column.strip())
            name, unit = (match[1].strip(), _UNITS[match[2]]) if match else (column.strip(), "")
            sums.setdefault(_NAMES.get(name, name), []).append(scaled(value, unit))
    for name, values in sums.items():
        launch.values.setdefault(name, sum(values) / len(values))
    conflicts = [launch.values[name] for name in ("aiv_vec_bankgroup_cflt_ratio", "aiv_vec_bank_cflt_ratio")
                 if name in launch.values]  # fmt: skip
    if conflicts:
        launch.values["bank_conflicts"] = sum(conflicts)
