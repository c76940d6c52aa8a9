"""What the tables of a job need to know of a rank: small, and made where the rank is open."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from stepscope.analyses.shared.typical import typical_part
from stepscope.model.trace import Trace
from stepscope.signals import Signals
from stepscope.signals.communication.rank_times import RankTimes, rank_times
from stepscope.signals.recording.enough import verdict

#: What is recorded of such ranks is not the job under way: rules about ranks are withheld, and none is called slow.
_NOT_UNDER_WAY: Final = ("few", "first use")
_GROUPS_SQL: Final = """
SELECT coalesce(c."group", g."group") AS "group", g.description, coalesce(g.ranks, c.ranks) AS ranks,
    coalesce(g.size, c.world_size) AS size, coalesce(c.kinds, []) AS kinds, coalesce(c.calls, 0) AS calls,
    c.bytes::BIGINT AS bytes
FROM (
    SELECT "group", list(DISTINCT collective ORDER BY collective) AS kinds, count(*) AS calls, sum(bytes) AS bytes,
        any_value(ranks) AS ranks, max(world_size) AS world_size FROM collectives GROUP BY 1
) c FULL JOIN (
    SELECT "group", any_value(description) AS description, any_value(ranks) AS ranks, max(size) AS size
    FROM groups GROUP BY 1
) g ON g."group" = c."group" ORDER BY 1
"""


@dataclass(frozen=True, slots=True)
class GroupPart:
    """A process group as one rank sees it.

    Attributes:
        name: As recorded.
        description: What it is for, as recorded; empty if not.
        ranks: All its ranks; empty if not recorded.
        size: Their number; 0 if not recorded.
        kinds: Kinds of collectives that the rank called in it.
        calls: How many of them.
        bytes: Sum of their sizes; 0 if not recorded.
    """

    name: str
    description: str
    ranks: tuple[int, ...]
    size: int
    kinds: tuple[str, ...]
    calls: int
    bytes: int


def groups_of(trace: Trace) -> list[GroupPart]:
    """The process groups of a rank."""
    return [
        GroupPart(
            row["group"], row["description"] or "", tuple(row["ranks"] or ()), row["size"] or len(row["ranks"] or ()),
            tuple(row["kinds"]), row["calls"], row["bytes"] or 0,
        )
        for row in trace.rows(_GROUPS_SQL)
    ]  # fmt: skip


def numbered_steps(trace: Trace) -> frozenset[int]:
    """Steps of a rank that have a recorded number, by which ranks can be compared."""
    return frozenset(row["step"] for row in trace.rows("SELECT step FROM steps WHERE number IS NOT NULL"))


def times_of(trace: Trace) -> RankTimes | None:
    """Where a rank's typical steps go; None without any, or without a device."""
    signals = Signals.of(typical_part(trace), trace)
    times, seen = signals.maybe(rank_times), signals.whole.maybe(verdict)
    if times is None or seen is None:
        return times
    return replace(times, under_way=seen.kind not in _NOT_UNDER_WAY)
