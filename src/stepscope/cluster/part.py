"""What the tables of a job need to know of a rank: small, and made where the rank is open."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from stepscope.analyses.communication.collective_transfers import calls_of, matching
from stepscope.analyses.registry import analyses, table_of
from stepscope.model.errors import MissingInputError
from stepscope.model.events.steps import Steps
from stepscope.model.trace import Trace

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


@dataclass(frozen=True, slots=True)
class RankTimes:
    """Where the mean typical step of a rank goes, in ns.

    Attributes:
        steps: Number of typical steps.
        step_ns: Length.
        compute_ns: As in `step_budget`.
        exposed_comm_ns: Likewise.
        exposed_copy_ns: Likewise.
        idle_ns: Likewise.
        waited_ns: Time in collectives beyond the shortest duration on any rank.
    """

    steps: int
    step_ns: int
    compute_ns: int
    exposed_comm_ns: int
    exposed_copy_ns: int
    idle_ns: int
    waited_ns: int


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
    """Where a rank's mean typical step goes; None without typical steps or a device."""
    typical = set(Steps.of(trace).typical_steps.tolist())
    try:
        budget = table_of(analyses()["step_budget"], trace).records()
    except MissingInputError:
        return None
    rows = [row for row in budget if row["step"] in typical]
    if not rows:
        return None
    steps = len(typical)

    def mean(column: str) -> int:
        return sum(int(row[column]) for row in rows) // len(rows)

    return RankTimes(
        steps, mean("total_ns"), mean("compute_ns"), mean("exposed_comm_ns"), mean("exposed_copy_ns"), mean("idle_ns"),
        _waited(trace) // steps,
    )  # fmt: skip


def _waited(trace: Trace) -> int:
    """Time in collectives of typical steps beyond their shortest duration, ns."""
    calls = trace.once(calls_of)
    shortest, _ = trace.job.once(matching).of(calls)
    return int(np.sum((calls["dur"] - shortest)[calls["typical"].astype(np.bool_)]))
