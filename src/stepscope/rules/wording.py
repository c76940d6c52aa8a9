"""Phrases of summaries, how often and where, and code of actions for each platform."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from stepscope.language import Said, counted, said
from stepscope.signals.host.synchronisation import WaitPlace

#: The wording of `without_steps`; catalogues say what it is elsewhere.
WITHOUT_STEPS: Final = "without steps"
#: A recording without steps has the time in which devices were in use instead.
_WITHOUT_STEPS: Final = (
    (re.compile(r" (?:per|in each|in every|during the) step\b"), ""),
    (re.compile(r"\bof (?:the|each|a) step\b"), "of the time"),
    (re.compile(r"\bshorten the step\b"), "shorten it"),
)
#: ROCm goes by CUDA's name.
_MODULES: Final = {"cuda": "torch.cuda", "rocm": "torch.cuda", "npu": "torch.npu", "xpu": "torch.xpu",
                   "mtia": "torch.mtia", "cpu": "torch.cpu"}  # fmt: skip
_SETTINGS: Final = {"npu": "PYTORCH_NPU_ALLOC_CONF", "rocm": "PYTORCH_HIP_ALLOC_CONF",
                    "cuda": "PYTORCH_CUDA_ALLOC_CONF"}  # fmt: skip
#: What multiplies matrices in 16 bits, by the vendors' names for it.
_TENSOR_CORES: Final = {
    "rocm": said("matrix cores"), "npu": said("cube units"), "xpu": said("matrix engines"),
}  # fmt: skip


def often(rate: float) -> str:
    """Times per step: `once per step`, `9 times per step`, `once in 2 steps`, followed by nothing."""
    if rate < 0.75:
        return said("once in {steps} steps", steps=round(1 / rate)) if rate > 0 else said("never")
    return counted("once per step", "{count:,} times per step", count=round(rate))


def without_steps(text: str) -> str:
    """A text about steps, reworded for a recording without known steps."""
    words = str(text)
    for pattern, instead in _WITHOUT_STEPS:
        words = pattern.sub(instead, words)
    if not isinstance(text, Said):
        # A constant is a pattern, unless braces stand in it.
        text = words if "{" in text or "}" in text else said(text)
    return text.reworded(WITHOUT_STEPS, words) if isinstance(text, Said) else words


def where(places: Iterable[WaitPlace]) -> str:
    """The two places with the longest waits, as an insertion: ` (in a.py(3): f and in b.py(9): g)`."""
    first, second = (*list(dict.fromkeys(place.text for place in places))[:2], "", "")[:2]
    if second:
        return said(" (in {first} and in {second})", first=first, second=second)
    return said(" (in {first})", first=first) if first else ""


def torch_module(platform: str) -> str:
    """PyTorch's module for a platform's devices; the one for any device (PyTorch 2.6) where it is not known."""
    return _MODULES.get(platform, "torch.accelerator")


def on_stream(platform: str, stream: str) -> str:
    """How work is put on a stream."""
    return f"with {torch_module(platform)}.stream({stream}):" if platform in _MODULES else f"with {stream}:"


def torch_device(platform: str) -> str:
    """PyTorch's name of a platform's devices; CUDA's, which most programs are written with, where it is not known."""
    return torch_module(platform).rpartition(".")[2] if platform in _MODULES else "cuda"


def tensor_cores(platform: str) -> str:
    """What a platform's vendor calls the units that multiply matrices; NVIDIA's name where it is not known."""
    return _TENSOR_CORES.get(platform, said("tensor cores"))


def allocator_variable(platform: str) -> str:
    """The variable that sets PyTorch's allocator; the one for any device (PyTorch 2.9) where it is not known."""
    return _SETTINGS.get(platform, "PYTORCH_ALLOC_CONF")
