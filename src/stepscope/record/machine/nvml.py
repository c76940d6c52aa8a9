"""NVIDIA devices through NVML, by the Python package nvidia-ml-py where it is installed.

Functions and constants: nvml.h (NVML API reference) as `pynvml` has them.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, Final

from stepscope.record.machine.streams import DeviceSamples

#: nvmlClocksEventReasons (nvml.h), without idleness and clocks that somebody chose.
REASONS: Final = {
    0x4: "power cap", 0x8: "hardware slowdown", 0x10: "sync boost", 0x20: "thermal (software)",
    0x40: "thermal (hardware)", 0x80: "power brake",
}  # fmt: skip


def reasons(bits: int) -> str:
    """Why the clock is lower than it could be; empty for no reason."""
    return ", ".join(name for bit, name in REASONS.items() if bits & bit)


def open_nvml() -> Nvml | None:
    """NVML; None where the package or the driver is missing."""
    try:
        library: Any = import_module("pynvml")
    except ImportError:
        return None
    try:
        library.nvmlInit()
        handles = [library.nvmlDeviceGetHandleByIndex(number) for number in range(library.nvmlDeviceGetCount())]
    except library.NVMLError:
        return None
    return Nvml(library, handles) if handles else None


class Nvml:
    """NVIDIA devices.

    Args:
        library: The module `pynvml`.
        handles: One per device.
    """

    name = "NVML"

    def __init__(self, library: Any, handles: list[Any]) -> None:
        self._library = library
        self._handles = handles

    def read(self) -> DeviceSamples:
        """Each device; what one does not support is left out."""
        return {number: self._device(handle) for number, handle in enumerate(self._handles)}

    def close(self) -> None:
        """Give NVML back."""
        try:
            self._library.nvmlShutdown()
        except self._library.NVMLError:
            return

    def _device(self, handle: Any) -> dict[str, float | str]:
        ask = self._library
        rates = self._try(ask.nvmlDeviceGetUtilizationRates, handle)
        memory = self._try(ask.nvmlDeviceGetMemoryInfo, handle)
        power = self._try(ask.nvmlDeviceGetPowerUsage, handle)
        throttling = getattr(ask, "nvmlDeviceGetCurrentClocksEventReasons", None)
        bits = self._try(throttling or ask.nvmlDeviceGetCurrentClocksThrottleReasons, handle)
        values = {
            "busy": rates and rates.gpu,
            "memory_busy": rates and rates.memory,
            "memory_used": memory and memory.used,
            "memory_total": memory and memory.total,
            "power": None if power is None else power / 1000,
            "clock": self._try(ask.nvmlDeviceGetClockInfo, handle, ask.NVML_CLOCK_SM),
            "memory_clock": self._try(ask.nvmlDeviceGetClockInfo, handle, ask.NVML_CLOCK_MEM),
            "temperature": self._try(ask.nvmlDeviceGetTemperature, handle, ask.NVML_TEMPERATURE_GPU),
            "throttled": None if bits is None else reasons(bits),
        }
        return {name: value for name, value in values.items() if value is not None}

    def _try(self, function: Any, *arguments: Any) -> Any:
        """What NVML says; None where the device does not support the question."""
        try:
            return function(*arguments)
        except self._library.NVMLError:
            return None
