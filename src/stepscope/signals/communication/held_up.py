"""Which rank of a pipeline holds up the others: lateness is handed on from stage to stage, and has one origin."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from statistics import median
from typing import Final

#: A rank is an origin too if it takes longer by so much of what the first one does.
_ALSO: Final = 0.5

#: The ranks of each pipeline, in the order of its stages.
Pipelines = Sequence[tuple[int, ...]]


def like_ranks(pipelines: Pipelines) -> list[tuple[int, ...]]:
    """Ranks that do the same, by stage: those at one place of pipelines of one length."""
    lengths = sorted({len(pipe) for pipe in pipelines})
    return [
        tuple(sorted(pipe[place] for pipe in pipelines if len(pipe) == length))
        for length in lengths
        for place in range(length)
    ]


def origins(late: Iterable[int], pipelines: Pipelines, own: Mapping[int, int], least: float) -> tuple[int, ...]:
    """The ranks that make others late, the first by far first; none where each is late because of another.

    A rank that waits for an activation comes late to the collectives of its own stage, and its neighbour's peers wait
    for it. What it does not spend in communication is no longer than on its like: of the late ranks' pipelines the
    rank whose own time exceeds that of its like most is the origin, and those that come near it.

    Args:
        late: Ranks to which others wait.
        pipelines: All pipelines.
        own: Time per step that each rank does not spend in exposed communication, ns.
        least: What counts as longer, ns per step.
    """
    suspected = {rank for pipe in pipelines if not set(pipe).isdisjoint(late) for rank in pipe}
    longer: dict[int, float] = {}
    for same in like_ranks(pipelines):
        usual = [own[rank] for rank in same if rank in own and rank not in suspected]
        if usual:
            middle = median(usual)
            longer |= {rank: own[rank] - middle for rank in same if rank in suspected and rank in own}
    most = max(longer.values(), default=0.0)
    if most < least:
        return ()
    found = [rank for rank, excess in longer.items() if excess >= max(_ALSO * most, least)]
    return tuple(sorted(found, key=lambda rank: (-longer[rank], rank)))
