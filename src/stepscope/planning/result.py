"""A judged layout."""

from __future__ import annotations

from dataclasses import dataclass, replace

from stepscope.planning.layout import Layout
from stepscope.planning.memory.total import MemoryUse


@dataclass(frozen=True, slots=True)
class JudgedPlan:
    """A layout with what it takes.

    Attributes:
        layout: The choices.
        memory: Of the fullest device.
        time_ns: The step by part; the parts add up to it.
        stages_ns: Forward and backward of each pipeline stage for a micro-batch.
        tokens: Tokens of a step.
        model_flops: FLOPs of a step without recomputation.
        hardware_flops: The same with recomputed layers.
        peak: FLOP/s of a device in the plan's precision.
        devices: How many there are.
        reasons: Why it is as it is, as sentences.
        notes: What to mind, as sentences.
    """

    layout: Layout
    memory: MemoryUse
    time_ns: dict[str, int]
    stages_ns: tuple[tuple[int, int], ...]
    tokens: int
    model_flops: float
    hardware_flops: float
    peak: float
    devices: int
    reasons: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def step_ns(self) -> int:
        """The step."""
        return sum(self.time_ns.values())

    @property
    def tokens_per_second(self) -> float:
        """Tokens per second of all devices."""
        return self.tokens / (self.step_ns / 1e9)

    @property
    def flops_per_device(self) -> float:
        """Model FLOP/s of a device."""
        return self.model_flops / self.devices / (self.step_ns / 1e9)

    @property
    def hardware_flops_per_device(self) -> float:
        """The same, recomputation counted."""
        return self.hardware_flops / self.devices / (self.step_ns / 1e9)

    @property
    def mfu(self) -> float:
        """Model FLOPs as a share of the peak in the plan's precision."""
        return self.flops_per_device / self.peak

    def explained(self, reasons: tuple[str, ...], notes: tuple[str, ...]) -> JudgedPlan:
        """The same with reasons and notes."""
        return replace(self, reasons=reasons, notes=notes)
