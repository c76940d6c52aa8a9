"""A profiled launch of a kernel, whichever tool counted."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from typing import Final

#: Bytes, nanoseconds and shares of one, by the units that tools write; others stay as they are.
_FACTORS: Final = {
    "%": 0.01, "ns": 1.0, "nsecond": 1.0, "us": 1e3, "usecond": 1e3, "ms": 1e6, "msecond": 1e6, "s": 1e9, "second": 1e9,
    "byte": 1.0, "kbyte": 1e3, "mbyte": 1e6, "gbyte": 1e9, "byte/block": 1.0, "kbyte/block": 1e3, "mbyte/block": 1e6,
    "kib": 1024.0, "mib": 1024.0**2, "byte/s": 1.0, "kbyte/s": 1e3, "mbyte/s": 1e6, "gbyte/s": 1e9, "tbyte/s": 1e12,
    "byte/second": 1.0, "kbyte/second": 1e3, "mbyte/second": 1e6, "gbyte/second": 1e9, "tbyte/second": 1e12,
}  # fmt: skip
#: Sizes and numbers of devices have 31 bits; durations of a hundred thousand launches add up to 63.
_LARGEST: Final = 1 << 31
_LONGEST_NS: Final = 1 << 46
_SIZES: Final = re.compile(r"\d{1,10}")


@dataclass(slots=True)
class ProfiledLaunch:
    """One launch and its counters.

    Attributes:
        tool: ncu, msprof op or rocprof-compute.
        name: The kernel's, as the tool writes it.
        dur: Duration in ns; None if not counted.
        grid: Blocks in x, y and z; None if not recorded.
        block: Threads per block in x, y and z; None if not recorded.
        device: Number of the device; None if not recorded.
        values: Counters by name.
    """

    tool: str
    name: str
    dur: int | None = None
    grid: tuple[int, ...] | None = None
    block: tuple[int, ...] | None = None
    device: int | None = None
    values: dict[str, float] = field(default_factory=dict)

    def drop_impossible(self) -> int:
        """Forget a duration, sizes and a device that no launch has; returns how many these were."""
        lost = 0
        if self.dur is not None and not 0 <= self.dur < _LONGEST_NS:
            self.dur, lost = None, lost + 1
        if self.grid is not None and not all(0 <= one < _LARGEST for one in self.grid):
            self.grid, lost = None, lost + 1
        if self.block is not None and not all(0 <= one < _LARGEST for one in self.block):
            self.block, lost = None, lost + 1
        if self.device is not None and not 0 <= self.device < _LARGEST:
            self.device, lost = None, lost + 1
        return lost


def number(text: str | None) -> float | None:
    """A number as tools write it, with commas between thousands, or as the decimal point of some locales."""
    plain = (text or "").strip().strip('"').replace("\u202f", "").replace("\xa0", "")
    if not plain or plain in ("N/A", "NA", "n/a", "nan"):
        return None
    if "," in plain and "." not in plain:
        head, _, tail = plain.rpartition(",")
        plain = f"{head}.{tail}" if len(tail) != 3 or head in ("0", "-0") else plain
    try:
        value = float(plain.replace(",", ""))
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def scaled(value: float, unit: str) -> float:
    """A value in bytes, ns or as a share of one."""
    return value * _FACTORS.get(unit.strip().lower(), 1.0)


def sizes(text: str | None) -> tuple[int, ...] | None:
    """`(256, 1, 1)` or `256` as three sizes; None for anything else."""
    found = tuple(int(one) for one in _SIZES.findall(text or ""))
    return (*found, 1, 1)[:3] if 1 <= len(found) <= 3 else None
