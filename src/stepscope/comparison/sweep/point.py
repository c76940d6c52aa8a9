"""One recording of a sweep: its step, what the step is made of, what it reads, and its memory."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from stepscope.comparison.comparable import items_per_step
from stepscope.comparison.parts.part_sums import part_sums
from stepscope.comparison.parts.shares import means
from stepscope.comparison.side import chosen_rank, side_of
from stepscope.comparison.summary import SideSummary, summary_of
from stepscope.language import said
from stepscope.model.errors import MissingInputError, UserError
from stepscope.model.trace import Trace


@dataclass(frozen=True, slots=True)
class SweepPoint:
    """One recording of a sweep.

    Attributes:
        summary: What it is, with its metrics by step.
        ranks: World size; the number of recorded ranks where that is not recorded.
        items: What a typical step of one rank reads, as in `throughput`; None where shapes do not tell.
        unit: Of the items: tokens or images; empty where they are not known.
        parts: Mean ns per step by part, as in `step_parts`; they add up to the mean step.
    """

    summary: SideSummary
    ranks: int
    items: float | None
    unit: str
    parts: Mapping[str, int]

    @property
    def step_ns(self) -> int | None:
        """Mean step; None where no steps are known."""
        lengths = self.summary.lengths if self.summary.unit in ("step", "host step") else ()
        return sum(lengths) // len(lengths) if lengths else None

    def peak(self, metric: str) -> int | None:
        """`peak_memory` or `peak_reserved` in bytes; None where it is not recorded."""
        return max(self.summary.series.get(metric, ()), default=None)


def point_of(trace: Trace, rank: int | None = None) -> SweepPoint:
    """The typical steps of a rank: of the one that waits least for the others, where none is given.

    Raises:
        UserError: The trace lacks the rank.
    """
    if rank is not None and rank not in trace.ranks:
        source = trace.recordings[trace.ranks[0]].source
        hint = said("it has {ranks}", ranks=", ".join(map(str, trace.ranks[:12])))
        raise UserError(said("{source} has no rank {rank}", source=source, rank=rank), hint=hint)
    side = side_of(trace, chosen_rank(trace, trace)[0] if rank is None else rank)
    read = items_per_step(side)
    sums: defaultdict[str, int] = defaultdict(int)
    try:
        for (part, _), amount in part_sums(side).items():
            sums[part] += amount.ns
    except MissingInputError:  # a memory snapshot has no times
        sums.clear()
    parts = dict(zip(sums, means(list(sums.values()), side.times), strict=True))
    items, unit = read or (None, "")
    return SweepPoint(summary_of(side), side.recording.world_size or len(trace.ranks), items, unit, parts)
