"""Durations of kernels, summed up by their operands."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


class KernelKey(NamedTuple):
    """Runs of a kernel that are summed up together: of equal name and operands, on one device, in one step.

    `device` is None where the rank's only device is not recorded, `step` where the step is not.
    """

    name: str
    inputs: str
    dtypes: str
    outputs: str
    device: int | None
    step: int | None


@dataclass(slots=True)
class RunDurations:
    """Durations of several runs, in ns: their number, sum, sum of squares (ns²), longest and shortest."""

    count: int = 0
    total: int = 0
    squares: int = 0
    longest: int = 0
    shortest: int = 2**63 - 1

    def add(self, ns: int) -> None:
        """Add a run."""
        self.merge(RunDurations(1, ns, ns * ns, ns, ns))

    def merge(self, other: RunDurations) -> None:
        """Add the runs of another one."""
        self.count += other.count
        self.total += other.total
        self.squares += other.squares
        self.longest = max(self.longest, other.longest)
        self.shortest = min(self.shortest, other.shortest)

    @property
    def variance(self) -> float | None:
        """Variance as of a sample (of one run less), in ns²; None of a single run."""
        if self.count < 2:
            return None
        return (self.count * self.squares - self.total**2) / (self.count * (self.count - 1))
