"""AMD's GPUs, whether a job may open them, and whether an IOMMU stands between accelerators and memory."""

from __future__ import annotations

import os
from typing import Any, Final

from stepscope.doctor.machine import Machine
from stepscope.doctor.probe.devices import device_nodes

_PCI: Final = "/sys/bus/pci/devices"
_AMD: Final = "0x1002"


def facts(machine: Machine) -> dict[str, Any]:
    """Values of `Facts`, by name; without what this machine does not tell."""
    addresses = device_nodes(machine)
    if addresses is None:
        return {}
    amd = tuple(one for one in sorted(addresses) if machine.text(f"{_PCI}/{one}/vendor") == _AMD)
    groups = {one: machine.text(f"{_PCI}/{one}/iommu_group/type") for one in addresses}
    found: dict[str, Any] = {"amd_gpus": amd, "iommu": {one: kind for one, kind in groups.items() if kind}}
    if machine.names("/dev") is not None:
        found["amd_open"] = os.access(machine.path("/dev/kfd"), os.R_OK | os.W_OK)
    return found
