"""Samples of the devices, from whatever shows them on this machine."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Protocol

from stepscope.record.machine.files import Roots
from stepscope.record.machine.streams import DeviceSamples


class DeviceSource(Protocol):
    """Shows devices of one vendor."""

    @property
    def name(self) -> str:
        """What it is called in the file of samples."""
        ...

    def read(self) -> DeviceSamples:
        """The devices as they are now; nothing if that is not known yet."""
        ...

    def close(self) -> None:
        """Give back what it holds."""
        ...


def open_devices(roots: Roots, visible: str | None = None) -> DeviceSource | None:
    """What shows the devices here: NVML, nvidia-smi, the AMD driver's files, or npu-smi; None for none.

    Args:
        roots: Where the system's files are.
        visible: `CUDA_VISIBLE_DEVICES` or its like, which says what a process takes for its devices 0, 1, ...
    """
    from stepscope.record.machine import amdgpu, npu_smi, nvidia_smi, nvml

    openers: Final[tuple[Callable[[], DeviceSource | None], ...]] = (
        nvml.open_nvml, nvidia_smi.open_nvidia_smi, lambda: amdgpu.open_amdgpu(roots), npu_smi.open_npu_smi,
    )  # fmt: skip
    for opener in openers:
        source = opener()
        if source is not None:
            return _Visible(source, visible) if visible else source
    return None


class _Visible:
    """The devices that a process sees, numbered as it numbers them."""

    def __init__(self, source: DeviceSource, visible: str) -> None:
        self._source = source
        given = [part.strip() for part in visible.split(",")]
        # Devices may be named by UUID, which says nothing of their number.
        self._numbers = [int(part) for part in given] if all(part.isdecimal() for part in given) else None

    @property
    def name(self) -> str:
        """That of the source."""
        return self._source.name

    def read(self) -> DeviceSamples:
        """The visible ones."""
        found = self._source.read()
        if self._numbers is None:
            return found
        return {position: found[number] for position, number in enumerate(self._numbers) if number in found}

    def close(self) -> None:
        """Give back what the source holds."""
        self._source.close()
