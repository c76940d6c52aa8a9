"""What a late rank takes longer than its like."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from statistics import median
from typing import Literal

from stepscope.signals.communication.late_by_step import LaterByStep
from stepscope.signals.communication.rank_times import RankTimes

Reason = Literal["compute", "host", "copies", "link", "start"]


@dataclass(frozen=True, slots=True)
class LateRank:
    """A rank that others wait for.

    Attributes:
        rank: The rank.
        like: The other ranks of its stage that wait in collectives; all of those of the job where there is no pipeline.
        wait_ns: Time per step that these wait longer than it, as a median.
        least_ns: The same of the one that waits least.
        share: wait_ns as a share of the median step of its like.
        parts: What it takes longer per step than the median of its like, in ns; they add up to wait_ns. `start` is what
            no part of its step explains: its steps are shorter, since they begin later.
        reason: The largest of them.
        steps: Steps that were compared.
        absent: Whether ranks that may be later are not at hand, or may not be.
        on_processor: Whether its model runs on the processor: what it computes is time in operators, `host` the time
            outside of them.
    """

    rank: int
    like: tuple[int, ...]
    wait_ns: int
    least_ns: int
    share: float
    parts: Mapping[Reason, int]
    reason: Reason
    steps: int
    absent: bool
    on_processor: bool = False


@dataclass(frozen=True, slots=True)
class Usual:
    """What is usual for some ranks: medians of their times in ns, and whether ranks that may be later are absent."""

    step_ns: int
    parts: Mapping[Reason, int]
    absent: bool

    @classmethod
    def of(cls, ranks: list[RankTimes], absent: bool) -> Usual:
        """Those of one rank or more."""
        times = [_parts(one) for one in ranks]
        parts: dict[Reason, int] = {part: middle(one[part] for one in times) for part in times[0]}
        return cls(middle(one.step_ns for one in ranks), parts, absent)


def held_against(
    one: RankTimes, rank: int, like: tuple[int, ...], usual: Usual, wait: int, gap: int, by_step: LaterByStep
) -> LateRank:
    """What one rank takes longer than others that wait for it."""
    longer: dict[Reason, int] = {part: ns - usual.parts[part] for part, ns in _parts(one).items()}
    parts: dict[Reason, int] = {**longer, "start": wait - sum(longer.values())}
    reason = max(parts, key=lambda part: parts[part])
    share, steps = wait / max(usual.step_ns, 1), max(by_step.steps, 1)
    return LateRank(rank, like, wait, gap, share, parts, reason, steps, usual.absent, one.on_processor)


def _parts(one: RankTimes) -> dict[Reason, int]:
    return {
        "compute": one.compute_ns,
        "host": one.idle_ns,
        "copies": one.exposed_copy_ns,
        "link": one.transfer_ns,
    }


def middle(values: Iterable[int]) -> int:
    """The median, rounded down."""
    return int(median(list(values)))
