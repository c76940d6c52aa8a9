"""Parts of a plan's memory and of its step, as pages call them."""

from __future__ import annotations

from typing import Final

from stepscope.language import said

_PARTS: Final = {
    "weights": said("weights"),
    "gradients": said("gradients"),
    "optimizer": said("optimizer"),
    "activations": said("activations"),
    "logits": said("logits"),
    "gathered": said("gathered"),
    "working": said("working"),
    "fragmentation": said("fragmentation"),
    "context": said("context"),
    "communication": said("communication"),
    "gemm": said("gemm"),
    "attention": said("attention"),
    "elementwise": said("elementwise"),
    "recomputation": said("recomputation"),
    "tensor parallel": said("tensor parallel"),
    "context parallel": said("context parallel"),
    "expert parallel": said("expert parallel"),
    "pipeline transfers": said("pipeline transfers"),
    "bubble": said("bubble"),
    "data parallel": said("data parallel"),
    "dispatch": said("dispatch"),
    "slowest device": said("slowest device"),
}


def part_of_plan(name: str) -> str:
    """What a part is called; its name where it is not known."""
    return _PARTS.get(name, name)
