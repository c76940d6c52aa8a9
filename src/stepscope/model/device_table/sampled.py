"""What samples of a device's units and links are of, by the names that profilers give them."""

from __future__ import annotations

import re
from typing import Final

#: Each with the names of it, which begin so; samples are percentages of what the unit or link can do.
_NAMES: Final = (
    ("SMs", r"SMs? Active"),
    ("issue", r"SM (?:Issue|Instructions)\b(?!.*Tensor)"),
    ("tensor cores", r"Tensor (?:Core )?Active"),
    ("memory read", r"(?:DRAM|VRAM) Read (?:Bandwidth|Throughput)"),
    ("memory write", r"(?:DRAM|VRAM) Write (?:Bandwidth|Throughput)"),
    ("pcie receive", r"PCIe RX (?:Bandwidth|Throughput)"),
    ("pcie transmit", r"PCIe TX (?:Bandwidth|Throughput)"),
    ("nvlink receive", r"NVLink RX (?:Bandwidth|Throughput|Requests|Responses)"),
    ("nvlink transmit", r"NVLink TX (?:Bandwidth|Throughput|Requests|Responses)"),
)
_PATTERNS: Final = tuple((what, re.compile(rf"(?:{names})", re.IGNORECASE)) for what, names in _NAMES)
#: The same metric also comes as a mean or a number of cycles, which says nothing without the device.
_SHARES: Final = re.compile(r"%")
_UNITS: Final = re.compile(r"\[[^\]]*\]\s*$")

MEASURES: Final = tuple(what for what, _ in _NAMES)


def measured(name: str) -> str | None:
    """One of `MEASURES`, if the series called `name` is a share of what a unit or link can do; else None.

    Data and overhead of one link and direction are series of their own, whose shares add up.
    """
    if _UNITS.search(name) and not _SHARES.search(name):
        return None
    return next((what for what, pattern in _PATTERNS if pattern.match(name)), None)
