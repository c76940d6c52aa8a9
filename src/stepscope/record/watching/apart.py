"""Tell ranks that drift apart: when each of them ended the same step."""

from __future__ import annotations

import time
from collections.abc import Sequence
from statistics import median
from typing import Final

from stepscope.record.ring.reader import Ring
from stepscope.record.triggers.trigger import RANKS_APART, Trigger

#: Steps looked at, and those of them that are judged; the ones before say what is usual.
LOOKED_AT: Final = 120
_LATEST: Final = 5
_FEWEST: Final = 20
#: How far apart the latest ends must be: by this share of a step, and so many times what is usual.
_SHARE: Final = 0.5
_TIMES: Final = 3.0


def ranks_apart(rings: Sequence[Ring]) -> Trigger | None:
    """Whether the ranks of one host drift apart, by the clock of that host.

    Ranks that wait for each other in every step end it within a small part of it. They are apart if in each of the
    last steps that all of them made the last one ended at least half a step after the first, and three times as late
    as in the median step before. Steps that take part in a recording do not count.

    Returns:
        The reason to record, which names the rank that was last most often; None if they are not apart.
    """
    # Numbers of steps are those of one host, whose clock is one.
    hosts = {ring.about.get("host") for ring in rings}
    if len(rings) < 2 or len(hosts) != 1 or len({ring.rank for ring in rings}) != len(rings):
        return None
    ends = [{one.number: one for one in ring.steps} for ring in rings]
    common = sorted(set.intersection(*(set(one) for one in ends)))
    common = [number for number in common if not any(one[number].recorded for one in ends)]
    if len(common) < _FEWEST + _LATEST:
        return None
    spread = {number: _spread([one[number].end_unix_ns for one in ends]) for number in common}
    usual = int(median(spread[number] for number in common[:-_LATEST]))
    length = median(one[number].length_ns for one in ends for number in common[:-_LATEST])
    latest = common[-_LATEST:]
    if min(spread[number] for number in latest) <= max(_SHARE * length, _TIMES * usual):
        return None
    number = latest[-1]
    order = sorted(range(len(rings)), key=lambda at: ends[at][number].end_unix_ns)
    first, last = rings[order[0]], rings[order[-1]]
    return Trigger(
        RANKS_APART, time.time_ns(), last.rank, last.world_size, number, spread[number],
        usual, f"rank {first.rank}",
    )  # fmt: skip


def _spread(ends: list[int]) -> int:
    return max(ends) - min(ends)
