"""What a profiler itself summed up of one rank, read without its events."""

from __future__ import annotations

from dataclasses import dataclass, field

from stepscope.model.recording import Recording
from stepscope.model.sums.kernels import KernelKey, RunDurations

#: A row of table `recorded`: source, step, subject, metric and value.
SumRow = tuple[str, str | None, str, str, float]


@dataclass(frozen=True, slots=True)
class Glance:
    """Whose recording it is and when it was made, as small files tell.

    Attributes:
        recording: The metadata that these files hold; its rank is known.
        between: Unix times of its start and end, in ns; None if they are not recorded.
    """

    recording: Recording
    between: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class RankSummaries:
    """The sums of one rank.

    Attributes:
        recording: Metadata.
        sums: Rows as of table `recorded`.
        groups: Ranks of each process group with more than one, by its name.
        kernels: Durations of its kernels whose operands are recorded.
        stepless: Whether steps of kernels are not recorded.
    """

    recording: Recording
    sums: list[SumRow]
    groups: dict[str, tuple[int, ...]] = field(default_factory=dict)
    kernels: dict[KernelKey, RunDurations] = field(default_factory=dict)
    stepless: bool = False
