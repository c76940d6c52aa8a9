"""Which ranks make the others wait, by how much, and by what they take longer: the one definition of a late rank.

A rank is held against its like: the ranks of the same stage, where there is a pipeline, else all. What it waits less
than these is what they wait for it; what it waits itself, for other ranks or stages, is not its lateness. It is late

* if it hardly waits in collectives, less than 0.3 of what is usual: nobody holds it up there;
* if its like wait 1 % of the step longer than it, both the median of them and the one that waits least: that much
  shorter the step would be without it being late;
* if that is so in three of their common steps, or in all of fewer, and, of three or more, is five standard errors by
  what it changes from step to step. Noise makes some rank late in each step, but hardly the same one. What has less
  than half of the steps, as a file that ends early, does not count among these.

Where one rank makes the others wait in one collective and another one in the next, both are late: all ranks leave a
collective of the whole job together, so that who was waited for before it does not matter behind it. So without a
pipeline a rank is late, too,

* if the others wait so much longer than it, and so long where it came last of all, each of them, in three steps.

Its step is as long as that of its like, so that what it waits less it does something else: it computes, idles, copies
or transfers longer, or its steps begin later. These parts add up to its lateness, and the largest is the reason.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import cache
from statistics import median
from typing import Final

import numpy as np

from stepscope.signals.communication.late_by_step import LaterByStep, later_than_others, with_steps
from stepscope.signals.communication.late_rank import LateRank, Usual, held_against, middle
from stepscope.signals.communication.rank_times import RankTimes

#: What costs less of a step is not worth looking for.
LEAST: Final = 0.01
#: A rank that waits less than this part of what the others wait is the one that comes last.
_LAST: Final = 0.3


def late_ranks(times: Mapping[int, RankTimes | None], least: float = LEAST) -> dict[int, LateRank]:
    """The late ranks, the one that is waited for most first; none where nothing tells waiting from transfer.

    Args:
        times: Times of each rank at hand.
        least: Share of the step from which on waiting counts.
    """
    known = {rank: one for rank, one in times.items() if one is not None and one.waited_ns is not None}
    if not any(one.under_way for one in known.values()):
        return {}
    found = [late for same in stages(known) for late in _late({rank: known[rank] for rank in same}, least)]
    return {late.rank: late for late in sorted(found, key=lambda late: (-late.wait_ns, late.rank))}


def stages(times: Mapping[int, RankTimes]) -> list[tuple[int, ...]]:
    """Ranks that do the same: those of one stage of pipelines of one length, and those that are in no pipeline."""
    found = defaultdict[tuple[int, int | None], list[int]](list)
    for rank in sorted(times):
        found[len(times[rank].pipe), times[rank].place].append(rank)
    return [tuple(found[stage]) for stage in sorted(found, key=lambda stage: (stage[0], stage[1] or 0))]


def _late(same: Mapping[int, RankTimes], least: float) -> Iterator[LateRank]:
    """The late ones of ranks that do the same."""
    if len(same) < 2:
        return
    waits = {rank: one.waited_ns or 0 for rank, one in same.items()}
    last, whole = _last(same), with_steps(same)

    @cache
    def by_step(all_of_them: bool) -> LaterByStep:
        return LaterByStep.of(same if all_of_them else whole)

    # Where many ranks are late, they are held against the same ones.
    absent = any(one.absent for one in same.values())
    usual = cache(lambda ranks: Usual.of([same[one] for one in ranks], absent))
    like = tuple(rank for rank in same if rank not in last)
    if last and len(last) <= len(like):
        step = middle(same[rank].step_ns for rank in like)
        waited, least_waited = middle(waits[one] for one in like), min(waits[one] for one in like)
        for rank in last:
            wait, gap = waited - waits[rank], least_waited - waits[rank]
            if min(wait, gap) < least * step or wait <= 0:
                continue
            steps = by_step(rank not in whole)
            if steps.again(rank, wait, least * step):
                yield held_against(same[rank], rank, like, usual(like), wait, gap, steps)
    if any(one.pipe for one in same.values()):
        return
    # Between two collectives of all ranks it does not matter who was waited for before them.
    step = middle(one.step_ns for one in same.values())
    if len(last) > len(like) or len(like) < 2:
        return
    later = later_than_others(np.array([[waits[rank]] for rank in like], np.int64))[:, 0]
    for rank in (like[at] for at in np.flatnonzero(later >= least * step)):
        others = tuple(one for one in like if one != rank)
        steps = by_step(rank not in whole)
        wait, gap = steps.awaited(rank, set(others), least * step)
        if min(wait, gap) >= least * step:
            yield held_against(same[rank], rank, others, usual(others), wait, gap, steps)


def _last(same: Mapping[int, RankTimes]) -> list[int]:
    """Those that hardly wait in collectives: nobody holds them up there."""
    held = {rank: one.held_ns or 0 for rank, one in same.items()}
    usual = median(sorted(held.values())[len(held) // 2 :])
    return [rank for rank in same if held[rank] <= _LAST * usual] if usual else []
