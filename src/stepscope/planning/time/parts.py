"""What a layer's passes take, by part."""

from __future__ import annotations

from dataclasses import dataclass, field

#: Share of a collective that overlaps with compute which lengthens that all the same, by competing for SMs and memory.
CONTENTION = 0.15


@dataclass(slots=True)
class PassTime:
    """Seconds of a pass through a layer, by part."""

    gemm: float = 0.0
    attention: float = 0.0
    elementwise: float = 0.0
    tensor_comm: float = 0.0
    context_comm: float = 0.0
    expert_comm: float = 0.0
    dispatch: float = 0.0
    kernels: float = 0.0

    @property
    def compute(self) -> float:
        """Seconds of the device's own work."""
        return self.gemm + self.attention + self.elementwise

    @property
    def seconds(self) -> float:
        """Seconds in all; kernels are a number, not a time."""
        return self.compute + self.tensor_comm + self.context_comm + self.expert_comm + self.dispatch

    def scaled(self, factor: float) -> PassTime:
        """The same, so many times."""
        return PassTime(*(factor * getattr(self, name) for name in PassTime.__slots__))

    def plus(self, other: PassTime) -> PassTime:
        """Both after each other."""
        return PassTime(*(getattr(self, name) + getattr(other, name) for name in PassTime.__slots__))


@dataclass(slots=True)
class LayerTime:
    """A layer's passes: forward, backward, and what of the forward pass is computed again."""

    forward: PassTime = field(default_factory=PassTime)
    backward: PassTime = field(default_factory=PassTime)
    again: PassTime = field(default_factory=PassTime)
