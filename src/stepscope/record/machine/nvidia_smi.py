"""NVIDIA devices through nvidia-smi, where nvidia-ml-py is not installed.

Format: `nvidia-smi --help-query-gpu`; with `csv,noheader,nounits` a line per device, values separated by a comma and a
space, and what a device lacks in brackets: `[N/A]`, `[Not Supported]`.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from typing import Final

from stepscope.record.machine.nvml import reasons
from stepscope.record.machine.streams import Stream, known, number

_QUERY: Final = ("index", "utilization.gpu", "utilization.memory", "memory.used", "memory.total", "power.draw",
                 "clocks.sm", "clocks.mem", "temperature.gpu", "clocks_throttle_reasons.active")  # fmt: skip
_NAMES: Final = ("busy", "memory_busy", "memory_used", "memory_total", "power", "clock", "memory_clock", "temperature")
COMMAND: Final = ("nvidia-smi", f"--query-gpu={','.join(_QUERY)}", "--format=csv,noheader,nounits", "--loop=1")
_MIB: Final = 1 << 20


def open_nvidia_smi() -> Stream | None:
    """The command; None where there is none."""
    if shutil.which("nvidia-smi") is None:
        return None
    try:
        return Stream("nvidia-smi", COMMAND, parse)
    except OSError:
        return None


def parse(line: str) -> tuple[int, Mapping[str, float | str]] | None:
    """Read a line of its output; memory is in MiB there."""
    parts = [part.strip() for part in line.split(",")]
    if len(parts) != len(_QUERY) or not parts[0].isdecimal():
        return None
    values: dict[str, float | str | None] = dict(zip(_NAMES, map(number, parts[1:-1]), strict=True))
    for name in ("memory_used", "memory_total"):
        value = values[name]
        values[name] = value * _MIB if isinstance(value, float) else None
    try:
        values["throttled"] = reasons(int(parts[-1], 16))
    except ValueError:
        values["throttled"] = None
    return int(parts[0]), known(values)
