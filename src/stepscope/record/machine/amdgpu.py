"""AMD devices through the files of their driver: what rocm-smi reads itself, without a process for each sample.

Files: Documentation/gpu/amdgpu/thermal.rst and driver-misc.rst of Linux.
"""

from __future__ import annotations

import re

from stepscope.record.machine.files import Roots, names, numbers
from stepscope.record.machine.streams import DeviceSamples, known


def open_amdgpu(roots: Roots) -> AmdGpus | None:
    """The devices; None where there are none."""
    folder = f"{roots.sys}/class/drm"
    cards = sorted((name for name in names(folder) if re.fullmatch(r"card\d+", name)), key=lambda name: int(name[4:]))
    devices = [f"{folder}/{name}/device" for name in cards]
    devices = [device for device in devices if numbers(f"{device}/gpu_busy_percent")]
    return AmdGpus(devices) if devices else None


class AmdGpus:
    """AMD devices.

    Args:
        devices: Folder of each, in the order of their numbers.
    """

    name = "amdgpu"

    def __init__(self, devices: list[str]) -> None:
        self._devices = devices
        self._monitors = [
            next((f"{device}/hwmon/{name}" for name in names(f"{device}/hwmon")), device) for device in devices
        ]

    def read(self) -> DeviceSamples:
        """Each device; what one does not show is left out."""
        pairs = zip(self._devices, self._monitors, strict=True)
        return {number: _device(device, monitor) for number, (device, monitor) in enumerate(pairs)}

    def close(self) -> None:
        """Nothing is held."""


def _device(device: str, monitor: str) -> dict[str, float | str]:
    # Power is in microwatts, clocks in Hz, temperatures in thousandths of a degree.
    return known({
        "busy": _one(f"{device}/gpu_busy_percent"),
        "memory_busy": _one(f"{device}/mem_busy_percent"),
        "memory_used": _one(f"{device}/mem_info_vram_used"),
        "memory_total": _one(f"{device}/mem_info_vram_total"),
        "power": _one(f"{monitor}/power1_average", 1e-6) or _one(f"{monitor}/power1_input", 1e-6),
        "clock": _one(f"{monitor}/freq1_input", 1e-6),
        "memory_clock": _one(f"{monitor}/freq2_input", 1e-6),
        "temperature": _one(f"{monitor}/temp1_input", 1e-3),
    })  # fmt: skip


def _one(path: str, factor: float = 1) -> float | None:
    found = numbers(path)
    return found[0] * factor if found else None
