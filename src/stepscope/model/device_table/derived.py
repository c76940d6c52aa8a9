"""Peak rates of NVIDIA devices missing from the table, computed from SMs, clock and compute capability.

A rate is operations per SM and clock, by compute capability (CUDA C++ Programming Guide, throughput of
native arithmetic instructions; architecture whitepapers of Kepler to Turing, Ampere GA102, Ada and Blackwell for
tensor cores), times SMs, times the highest clock. On GeForce and TITAN cards tensor cores that add up in fp32 run at
half their rate, so that TF32 is no faster than fp32 there.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from stepscope.model.device_table.device import Device

#: FLOP per SM and clock by compute capability: fp64 and fp32 on ordinary units, then 16 bits on tensor
#: cores with sums in fp32 (of cards for workstations and servers; 0 where there are none), and whether these know TF32
#: and bf16.
_PER_CLOCK: Final = {
    "3.0": (16, 384, 0, False),
    "3.5": (128, 384, 0, False),
    "3.7": (128, 384, 0, False),
    "5.0": (8, 256, 0, False),
    "5.2": (8, 256, 0, False),
    "6.0": (64, 128, 0, False),
    "6.1": (8, 256, 0, False),
    "7.0": (64, 128, 1024, False),
    "7.2": (4, 128, 1024, False),
    "7.5": (4, 128, 1024, False),
    "8.0": (64, 128, 2048, True),
    "8.6": (4, 256, 1024, True),
    "8.7": (4, 256, 1024, True),
    "8.9": (4, 256, 1024, True),
    "9.0": (128, 256, 4096, True),
    "12.0": (4, 256, 1024, True),
}
_MAX_THREADS: Final = {"7.5": 1024} | dict.fromkeys(
    ("3.0", "3.5", "3.7", "5.0", "5.2", "6.0", "6.1", "7.0", "7.2", "8.0", "9.0"), 2048
)
_HALVED: Final = re.compile(r"GeForce|TITAN(?! V)|^NVIDIA RTX \d0\d0( |$)(?!Ada|Gen)", re.IGNORECASE)


@lru_cache(maxsize=256)
def derived(
    name: str,
    capability: str | None,
    units: int | None,
    clock_hz: int | None,
    bandwidth: int | None,
    memory_bytes: int | None,
) -> Device | None:
    """A device with rates computed from its SMs and clock; None if these or its architecture are not known.

    Args:
        name: As recorded.
        capability: Compute capability, for example `8.6`.
        units: Number of SMs.
        clock_hz: The highest clock in Hz.
        bandwidth: Bytes per second to its memory; None if not known.
        memory_bytes: Size of its memory; None if not known.
    """  # fmt: skip
    if capability not in _PER_CLOCK or not units or not clock_hz or "MIG " in name:
        return None
    fp64, fp32, sixteen, has_tf32 = _PER_CLOCK[capability]
    per_flop = units * clock_hz
    tensor = sixteen // 2 if _HALVED.search(name) else sixteen
    matrix = {"fp16": tensor * per_flop} if tensor else {}
    if has_tf32:
        matrix |= {"bf16": tensor * per_flop, "tf32": tensor // 2 * per_flop}
    return Device(
        name=f"{name} (rates derived)",
        vendor="nvidia",
        pattern=re.compile(re.escape(name)),
        memory_bytes=memory_bytes,
        memory_bandwidth=bandwidth or None,
        units=units,
        vector={"fp64": fp64 * per_flop, "fp32": fp32 * per_flop},
        matrix=matrix,
        max_threads=_MAX_THREADS.get(capability, 1536),
        warp_size=32,
        link_bandwidth=None,
        source="SMs and clock as recorded, times operations per clock of the architecture",
    )
