"""How the same thing is written for each platform."""

from __future__ import annotations

from typing import Final

_MODULES: Final = {"npu": "torch.npu", "xpu": "torch.xpu", "cpu": "torch.cpu"}


def torch_module(platform: str) -> str:
    """PyTorch's module for a platform's devices; ROCm goes by CUDA's name."""
    return _MODULES.get(platform, "torch.cuda")


def torch_device(platform: str) -> str:
    """PyTorch's name of a platform's devices."""
    return torch_module(platform).rpartition(".")[2]
