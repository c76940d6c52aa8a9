"""How the same thing is written for each platform."""

from __future__ import annotations

from typing import Final

#: ROCm goes by CUDA's name.
_MODULES: Final = {"cuda": "torch.cuda", "rocm": "torch.cuda", "npu": "torch.npu", "xpu": "torch.xpu",
                   "mtia": "torch.mtia", "cpu": "torch.cpu"}  # fmt: skip
_SETTINGS: Final = {"npu": "PYTORCH_NPU_ALLOC_CONF", "rocm": "PYTORCH_HIP_ALLOC_CONF",
                    "cuda": "PYTORCH_CUDA_ALLOC_CONF"}  # fmt: skip


def torch_module(platform: str) -> str:
    """PyTorch's module for a platform's devices; the one for any device (PyTorch 2.6) where it is not known."""
    return _MODULES.get(platform, "torch.accelerator")


def on_stream(platform: str, stream: str) -> str:
    """How work is put on a stream."""
    return f"with {torch_module(platform)}.stream({stream}):" if platform in _MODULES else f"with {stream}:"


def torch_device(platform: str) -> str:
    """PyTorch's name of a platform's devices; CUDA's, which most programs are written with, where it is not known."""
    return torch_module(platform).rpartition(".")[2] if platform in _MODULES else "cuda"


def allocator_variable(platform: str) -> str:
    """The variable that sets PyTorch's allocator; the one for any device (PyTorch 2.9) where it is not known."""
    return _SETTINGS.get(platform, "PYTORCH_ALLOC_CONF")
