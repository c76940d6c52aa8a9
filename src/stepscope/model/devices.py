"""Look up devices by their recorded names.

All rates are dense, without sparsity; every row names its source. Figures that a vendor does not publish are None.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final

from stepscope.model.device_table import DEVICES, Device
from stepscope.model.device_table.derived import derived
from stepscope.model.device_table.derived_npu import derived_npu

__all__ = ["DESCRIPTION", "DEVICES", "Device", "described", "match"]

#: What readers call devices of unknown variant.
_NPU: Final = re.compile(r"Ascend", re.IGNORECASE)

#: Columns of `devices` that `described` reads.
DESCRIPTION: Final = "device, name, compute_capability, sms, clock_hz, memory_bandwidth, memory_bytes"


def described(row: Mapping[str, Any]) -> Device | None:
    """The device of a row of table `devices`: from the device table, else with rates derived from the row."""
    known = match(row["name"])
    if known is not None and known.vendor == "huawei" and not known.matrix:
        # Recordings name a family whose variants differ by half; their counters tell which it is.
        told = (known.name, row["sms"], row["clock_hz"], row["memory_bandwidth"], row["memory_bytes"])
        return derived_npu(*told) or known
    if known is not None or not row["name"]:
        return known
    if _NPU.search(row["name"]):
        return derived_npu(row["name"], row["sms"], row["clock_hz"], row["memory_bandwidth"], row["memory_bytes"])
    return derived(
        row["name"], row["compute_capability"], row["sms"], row["clock_hz"], row["memory_bandwidth"],
        row["memory_bytes"],
    )  # fmt: skip


@lru_cache(maxsize=1024)
def match(name: str | None) -> Device | None:
    """The device that a recorded name means.

    Args:
        name: As recorded: `Tesla V100-SXM2-32GB`, `NVIDIA H100 80GB HBM3`, `AMD Instinct MI300X VF`, `Ascend910B3`.

    Returns:
        Its row; None if the name is missing or not in the table, in which case no peak may be assumed.
    """
    if not name or "MIG " in name:
        # A slice of a device has an unstated part of its rates.
        return None
    for device in DEVICES:
        if device.pattern.search(name):
            return device
    return None
