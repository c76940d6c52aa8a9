"""A `pynvml` that has what nvidia-ml-py 13.615 has of the functions in use, with their parameters, and nothing else."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

#: Function and its parameters, as in pynvml.py; a test compares them with the installed package where there is one.
SIGNATURES = {
    "nvmlInit": (), "nvmlShutdown": (), "nvmlDeviceGetCount": (), "nvmlDeviceGetHandleByIndex": ("index",),
    "nvmlDeviceGetUtilizationRates": ("handle",), "nvmlDeviceGetMemoryInfo": ("handle", "version"),
    "nvmlDeviceGetPowerUsage": ("handle",), "nvmlDeviceGetClockInfo": ("handle", "type"),
    "nvmlDeviceGetTemperature": ("handle", "sensor"), "nvmlDeviceGetCurrentClocksEventReasons": ("handle",),
    "nvmlDeviceGetCurrentClocksThrottleReasons": ("handle",),
}  # fmt: skip


@dataclass(frozen=True)
class Rates:
    gpu: int
    memory: int


@dataclass(frozen=True)
class Memory:
    total: int
    free: int
    used: int


class FakeNvml:
    """Two devices, the second of which does not tell its power."""

    NVML_CLOCK_SM = 1
    NVML_CLOCK_MEM = 2
    NVML_TEMPERATURE_GPU = 0

    class NVMLError(Exception):
        pass

    def __init__(self) -> None:
        self.open = 0

    def __getattr__(self, name: str) -> Any:
        if name not in SIGNATURES:
            raise AttributeError(f"pynvml has no {name}")

        def called(*arguments: Any) -> Any:
            assert len(arguments) <= len(SIGNATURES[name]), f"{name} takes {SIGNATURES[name]}"
            return self._answer(name, *arguments)

        return called

    def _answer(self, name: str, *arguments: Any) -> Any:
        if name in ("nvmlInit", "nvmlShutdown"):
            self.open += 1 if name == "nvmlInit" else -1
            return None
        if not self.open:
            raise self.NVMLError("Uninitialized")
        if name == "nvmlDeviceGetCount":
            return 2
        if name == "nvmlDeviceGetHandleByIndex":
            return f"handle {arguments[0]}"
        assert arguments[0] in ("handle 0", "handle 1")
        if name == "nvmlDeviceGetPowerUsage" and arguments[0] == "handle 1":
            raise self.NVMLError("Not Supported")
        if name == "nvmlDeviceGetClockInfo":
            return {1: 1980, 2: 2619}[arguments[1]]
        return {
            "nvmlDeviceGetUtilizationRates": Rates(37, 12),
            "nvmlDeviceGetMemoryInfo": Memory(80 << 30, 79 << 30, 1 << 30),
            "nvmlDeviceGetPowerUsage": 123_456, "nvmlDeviceGetTemperature": 41,
            "nvmlDeviceGetCurrentClocksEventReasons": 0x1 | 0x4 | 0x40,
        }[name]  # fmt: skip
