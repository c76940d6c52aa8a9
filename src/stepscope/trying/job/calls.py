"""Count calls in the loop that remedies may leave out or change."""

from __future__ import annotations

import functools
import gc
from collections.abc import Callable
from typing import Any


class Calls:
    """Stands around a few functions.

    Args:
        counts: Whether calls count now, as they do in the loop.
    """

    def __init__(self, counts: Callable[[], bool]) -> None:
        self._counts = counts
        self.seen: dict[str, int] = {}

    def add(self, name: str) -> None:
        """Count a call."""
        self.seen[name] = self.seen.get(name, 0) + 1

    def see(self) -> None:
        """Put the counters in place."""
        import torch
        from torch.backends import cuda

        gc.collect = self._counted(gc.collect, "gc.collect")
        for module in filter(None, (getattr(torch, name, None) for name in ("cuda", "npu", "xpu"))):
            for name in ("synchronize", "empty_cache"):
                if hasattr(module, name):
                    setattr(module, name, self._counted(getattr(module, name), name))
        for owner in (torch.optim.Optimizer, torch.nn.Module):
            owner.zero_grad = self._zeroing(owner.zero_grad)
        wrapper = torch.nn.parallel.DistributedDataParallel
        wrapper.no_sync = self._counted(wrapper.no_sync, "no_sync", always=True)
        for name in ("flash", "mem_efficient"):
            enable = getattr(cuda, f"enable_{name}_sdp", None)
            if enable is not None:
                setattr(cuda, f"enable_{name}_sdp", self._counted(enable, "enable_sdp", always=True))

    def _counted(self, plain: Any, name: str, *, always: bool = False) -> Any:
        @functools.wraps(plain)
        def counted(*args: Any, **kwargs: Any) -> Any:
            if always or self._counts():
                self.add(name)
            return plain(*args, **kwargs)

        return counted

    def _zeroing(self, plain: Any) -> Any:
        @functools.wraps(plain)
        def zero_grad(instance: Any, set_to_none: bool = True) -> Any:
            if not set_to_none:
                self.add("zero_grad")
            return plain(instance, set_to_none)

        return zero_grad
