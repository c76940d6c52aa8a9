"""How much memory this process and its device have in use, looked at a few times a second."""

from __future__ import annotations

import os
import sys
from typing import Any, Final

#: Nanoseconds between two looks: one takes 20 to 40 µs, and three times that where nothing of it is in caches.
_BETWEEN_NS: Final = 250_000_000


class MemoryInUse:
    """Bytes in use.

    Attributes:
        device_bytes: Bytes of tensors on the current device, at most since the process started; 0 for none.
        host_bytes: Bytes of memory that the process holds; 0 where the system does not tell.
    """

    def __init__(self) -> None:
        self.device_bytes = 0
        self.host_bytes = 0
        self._page = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 0
        self._next = 0
        self._asks_device = True

    def look(self, now: int) -> bool:
        """Look, if it is time to; whether that was done.

        Args:
            now: Monotonic time in ns.
        """
        if now < self._next:
            return False
        self._next = now + _BETWEEN_NS
        if self._asks_device:
            try:
                self.device_bytes = _of_device()
            except RuntimeError:
                # An allocator that the program has put in the place of torch's may keep no such count.
                self._asks_device, self.device_bytes = False, 0
        try:
            file = os.open("/proc/self/statm", os.O_RDONLY)
            try:
                self.host_bytes = int(os.read(file, 256).split()[1]) * self._page
            finally:
                os.close(file)
        except (OSError, ValueError, IndexError):
            self.host_bytes = 0
        return True


def _of_device() -> int:
    """The peak of the allocator, which no look can miss; nothing uses a device that the program does not."""
    torch: Any = sys.modules["torch"]
    device = torch.cuda
    npu: Any = sys.modules.get("torch_npu")
    if npu is not None and npu.npu.is_initialized():
        device = npu.npu
    if not device.is_initialized():
        return 0
    values: Any = device.memory.memory_stats_as_nested_dict()
    peak = values.get("allocated_bytes", {}).get("all", {}).get("peak", 0)
    return peak if isinstance(peak, int) else 0
