"""Ascend NPUs through `npu-smi info watch`, which prints a line per chip each second.

Format, from Huawei's manual of npu-smi (npu-smi info watch):

    NpuID(Idx)  ChipId(Idx) Pwr(W)      Temp(C)     AI Core(%)  AI Cpu(%)   Ctrl Cpu(%) Memory(%)   Memory BW(%)
    0           0           13.4        45          0           0           0           3           0
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from typing import Final

from stepscope.record.machine.streams import Stream, known, number

COMMAND: Final = ("npu-smi", "info", "watch")
_COLUMNS: Final = 9


def open_npu_smi() -> Stream | None:
    """The command; None where there is none."""
    if shutil.which("npu-smi") is None:
        return None
    try:
        return Stream("npu-smi", COMMAND, NpuLines().parse)
    except OSError:
        return None


class NpuLines:
    """Reads the lines; chips are numbered in the order in which they come, as CANN numbers its devices."""

    def __init__(self) -> None:
        self._numbers: dict[tuple[str, str], int] = {}

    def parse(self, line: str) -> tuple[int, Mapping[str, float | str]] | None:
        """Read a line of its output."""
        parts = line.split()
        if len(parts) != _COLUMNS or not (parts[0].isdecimal() and parts[1].isdecimal()):
            return None
        device = self._numbers.setdefault((parts[0], parts[1]), len(self._numbers))
        values = dict(zip(("power", "temperature", "busy"), map(number, parts[2:5]), strict=True))
        return device, known({**values, "memory_share": number(parts[7]), "memory_busy": number(parts[8])})
