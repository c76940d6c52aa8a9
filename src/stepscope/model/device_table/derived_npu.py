"""Peak rates of Ascend devices that the table does not know by name, computed from AI cores and clock."""

from __future__ import annotations

import re
from functools import lru_cache

from stepscope.model.device_table.ascend import cube_rates
from stepscope.model.device_table.device import NOTHING, Device

#: Names of AI cores with units of their own for vectors, which also know bf16: none of the first generation does.
_FIRST = re.compile(r"910A|910Pro|910Premium|310", re.IGNORECASE)


@lru_cache(maxsize=256)
def derived_npu(
    name: str, units: int | None, clock_hz: int | None, bandwidth: int | None, memory_bytes: int | None
) -> Device | None:
    """A device with rates computed from its AI cores and clock; None if these are not known.

    Args:
        name: As recorded, or as the reader describes it.
        units: Number of AI cores.
        clock_hz: Their clock in Hz.
        bandwidth: Bytes per second to its memory; None if not known.
        memory_bytes: Size of its memory; None if not known.
    """
    if not units or not clock_hz:
        return None
    return Device(
        name=name,
        vendor="huawei",
        pattern=re.compile(re.escape(name)),
        memory_bytes=memory_bytes,
        memory_bandwidth=bandwidth,
        units=units,
        vector=NOTHING,
        matrix=cube_rates(units, clock_hz / 1e6, bf16=not _FIRST.search(name)),
        max_threads=None,
        warp_size=None,
        link_bandwidth=None,
        source="AI cores and clock as recorded or counted, times 16 x 16 x 16 x 2 FLOP per core and clock",
    )
