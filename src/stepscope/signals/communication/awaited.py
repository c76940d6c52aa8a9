"""Ranks that a rank's collectives wait for, where the library recorded them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from stepscope.model.errors import MissingInputError
from stepscope.signals.communication.cluster import collectives
from stepscope.signals.signal import Signals, signal

#: The longest single wait for each peer of each collective. `dst` is who is waited for, within the group.
_WAITS_SQL: Final = """
SELECT p.collective, p.dst::BIGINT AS peer, max(s.dur)::BIGINT AS ns
FROM comm_tasks p JOIN spans s ON s.id = p.event
WHERE p.kind = 'wait' AND p.collective IS NOT NULL AND p.dst IS NOT NULL AND p.dst IS DISTINCT FROM p.src
    AND s.dur IS NOT NULL
GROUP BY ALL ORDER BY p.collective, ns DESC, peer
"""
_GROUPS_SQL: Final = """
SELECT event, coalesce(world_size, len(ranks), -1)::BIGINT AS world, ranks FROM collectives
"""
#: One wait that is at least this part of a collective's waiting is what it waited for.
_MOST: Final = 0.5
#: A peer that is waited for no less than this part of the longest came as late.
_AS_LATE: Final = 0.8
#: In a ring everybody waits for a neighbour, which itself waits: only waits for this many peers, or all, tell who is
#: late.
_PEERS: Final = 3


@signal()
def peers(s: Signals) -> Mapping[int, int]:
    """Ranks that the rank's collectives wait for, with the time per step spent waiting for each."""
    found = s(collectives)
    waits = s.trace.columns(_WAITS_SQL)
    if not waits["ns"].size:
        raise MissingInputError.of("links")
    groups = {row["event"]: (row["world"], row["ranks"]) for row in s.trace.rows(_GROUPS_SQL)}
    total: dict[int, int] = defaultdict(int)
    for event, wait, exposed in zip(found.event.tolist(), found.wait.tolist(), found.exposed.tolist(), strict=True):
        world, ranks = groups.get(event, (-1, None))
        for peer in _late(waits, event, wait, world):
            total[_global(peer, ranks)] += min(exposed, wait)
    return {rank: ns // found.steps for rank, ns in sorted(total.items())}


def _late(waits: Mapping[str, NDArray[Any]], event: int, wait: int, world: int) -> list[int]:
    """The peers that a collective waited for longest, within its group; none if not recorded."""
    first, last = np.searchsorted(waits["collective"], (event, event + 1))
    ns, peer = waits["ns"][first:last], waits["peer"][first:last]
    others = world - 1 if world > 0 else int(waits["peer"].max(initial=0))
    if not ns.size or ns[0] < _MOST * wait or ns.size < min(max(others, 1), _PEERS):
        return []
    late = peer[ns >= _AS_LATE * ns[0]].tolist()
    return late if 2 * len(late) <= max(ns.size, 2) else []


def _global(peer: int, ranks: list[int] | None) -> int:
    """A rank of the job, from its position in a group."""
    return ranks[peer] if ranks and peer < len(ranks) else peer
