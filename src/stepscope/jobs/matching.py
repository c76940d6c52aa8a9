"""Which rank of one job is held against which rank of the other."""

from __future__ import annotations

from typing import Literal

from stepscope.jobs.side import ComparedJob, JobRank

RankMatch = Literal["rank", "place", "none"]


def matched_ranks(base: ComparedJob, new: ComparedJob) -> list[tuple[RankMatch, JobRank | None, JobRank | None]]:
    """Pairs of ranks, in the order of the base's.

    Ranks of one number belong together where both jobs have the same ranks in the same stages; else those of the same
    place among the ranks of their stage. What has no counterpart stands alone.
    """
    if _laid_out(base) == _laid_out(new):
        return [("rank", base.ranks[rank], new.ranks[rank]) for rank in sorted(base.ranks)]
    found: list[tuple[RankMatch, JobRank | None, JobRank | None]] = []
    sides = [_by_stage(one) for one in (base, new)]
    if set(sides[0]) != set(sides[1]):
        sides = [{None: sorted(one.ranks.values(), key=lambda rank: rank.rank)} for one in (base, new)]
    for stage in sides[0]:
        first, second = sides[0][stage], sides[1][stage]
        both = min(len(first), len(second))
        found += [("place", a, b) for a, b in zip(first, second, strict=False)]
        found += [("none", a, None) for a in first[both:]]
        found += [("none", None, b) for b in second[both:]]
    return sorted(found, key=lambda pair: _number(pair[1], pair[2]))


def _number(base: JobRank | None, new: JobRank | None) -> tuple[bool, int]:
    one = base or new
    return base is None, one.rank if one is not None else 0


def _laid_out(job: ComparedJob) -> dict[int, int | None]:
    staged = bool(job.stages)
    return {rank: one.times.place if staged else None for rank, one in job.ranks.items()}


def _by_stage(job: ComparedJob) -> dict[int | None, list[JobRank]]:
    found: dict[int | None, list[JobRank]] = {}
    staged = bool(job.stages)
    for _, one in sorted(job.ranks.items()):
        found.setdefault(one.times.place if staged else None, []).append(one)
    return found
