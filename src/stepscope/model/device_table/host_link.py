"""Bandwidth between a device and its host.

Rates of one direction: PCI Express 3.0, 4.0 and 5.0 with 16 lanes carry 15.75, 31.5 and 63 GB/s (PCI-SIG); which of
them a device has stands in the vendor's datasheet named in its row. NVLink-C2C carries 450 GB/s each way (NVIDIA GH200
datasheet, 2024). GeForce RTX 20 and GTX cards have PCI Express 3.0; how many lanes a laptop gives its GPU is up
to its maker.
"""

from __future__ import annotations

import re
from typing import Final

from stepscope.model.device_table.device import Device

_GB: Final = 10**9
_LINKS: Final = (
    (re.compile(r"GH200|GB[23]00"), 450 * _GB),
    (re.compile(r"V100|T4|Quadro RTX|RTX 20[678]0|TITAN|GTX 1[06]"), 15_750_000_000),
    (re.compile(r"^(?:H|B)\d00|H20|MI3\d\d|RTX 5090"), 63 * _GB),
    (re.compile(r"^A\d|L4|RTX(?!.*Laptop)|MI100|MI2\d\d"), 31_500_000_000),
)


def host_link(device: Device) -> int | None:
    """Bytes per second of one direction of the link to the host; None where it is not known."""
    return next((rate for pattern, rate in _LINKS if pattern.search(device.name)), None)
