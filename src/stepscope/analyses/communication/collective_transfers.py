"""Split each collective's duration into transfer and waiting for late ranks.

A rank's own recording shows only the whole: a collective starts when the rank arrives and ends when all ranks have the
result. The last rank to arrive waits for nobody, so the shortest duration among the participants is the transfer time
(TraceLens and NVIDIA's analysis of training steps use the same proxy). On threads of the host it is the same. Where the
library recorded its transfers one by one, as HCCL does, the union of their times is another upper bound, and the lower
one counts. Sums of transfers (`communication.json`) are used the same way.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from stepscope.analyses.communication.called import calls_of
from stepscope.analyses.communication.matching import Matching
from stepscope.analyses.shared.grouping import Groups
from stepscope.model.intervals import Times
from stepscope.model.trace import Trace

_TASKS_SQL: Final = """
SELECT p.collective, s.ts, s.ts + coalesce(s.dur, 0) AS stop
FROM comm_tasks p JOIN spans s ON s.id = p.event
WHERE p.collective IS NOT NULL AND p.kind IN ('copy', 'reduce', 'send') AND coalesce(p.link, '') <> 'ON_CHIP'
ORDER BY p.collective, s.ts
"""


#: Sums count where the single transfers are not at hand.
_SUMMED_SQL: Final = """
SELECT event, transfer_ns AS ns FROM collectives
WHERE transfer_ns IS NOT NULL AND event NOT IN (
    SELECT collective FROM comm_tasks WHERE collective IS NOT NULL AND kind IN ('copy', 'reduce', 'send'))
ORDER BY event
"""


@dataclass(frozen=True, slots=True)
class CollectiveTransfers:
    """The n collectives of a rank whose transfer time is known from more than their own duration, by event.

    Attributes:
        event: int64[n].
        ns: int64[n], time of the transfer, at most the collective's own duration on the rank.
        ranks: int32[n], how many participants' recordings are at hand; 0 if the library recorded its transfers.
        shortest: int64[n], duration on the rank at hand on which it took least; the highest number for none.
        last: int64[n], that rank, which of those at hand came last; -1 for none.
    """

    event: NDArray[np.int64]
    ns: Times
    ranks: NDArray[np.int32]
    shortest: Times
    last: NDArray[np.int64]

    def of(self, events: NDArray[np.int64], otherwise: Times) -> tuple[Times, NDArray[np.int32]]:
        """Transfer time and participants of collectives; their own durations and 1 where nothing else is known."""
        found, ranks = otherwise.copy(), np.ones(events.size, np.int32)
        at, known = self._at(events)
        found[known] = np.minimum(found[known], self.ns[at])
        ranks[known] = self.ranks[at]
        return found, ranks

    def least(self, events: NDArray[np.int64], otherwise: Times) -> Times:
        """Shortest duration of each collective on any rank at hand, including this one."""
        found: Times = otherwise.copy()
        at, known = self._at(events)
        found[known] = np.minimum(found[known], self.shortest[at])
        return found

    def last_of(self, events: NDArray[np.int64]) -> NDArray[np.int64]:
        """The rank at hand that came last to each collective, int64[n]; -1 where that is not known."""
        found = np.full(events.size, -1)
        at, known = self._at(events)
        found[known] = self.last[at]
        return found

    def _at(self, events: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Places of those collectives that are known, and which these are."""
        if not self.event.size:
            return np.zeros(0, np.int64), np.zeros(events.size, bool)
        at = np.minimum(np.searchsorted(self.event, events), self.event.size - 1)
        known = self.event[at] == events
        return at[known], known


def transfers(trace: Trace) -> CollectiveTransfers:
    """Transfer times of a rank's collectives, from the recordings of all ranks at hand."""
    event, ns, ranks, came = _shortest(trace)
    recorded, moving = _recorded(trace)
    if not recorded.size:
        return CollectiveTransfers(event, ns, ranks, ns, came)
    every = np.union1d(event, recorded)
    shortest = np.full(every.size, np.iinfo(np.int64).max)
    np.minimum.at(shortest, np.searchsorted(every, event), ns)
    both = shortest.copy()
    np.minimum.at(both, np.searchsorted(every, recorded), moving)
    participants = np.zeros(every.size, np.int32)
    participants[np.searchsorted(every, event)] = ranks
    participants[np.searchsorted(every, recorded)] = 0
    last = np.full(every.size, -1)
    last[np.searchsorted(every, event)] = came
    return CollectiveTransfers(every, both, participants, shortest, last)


def _recorded(trace: Trace) -> tuple[Times, Times]:
    """Collectives whose library recorded its transfers, and the time that these cover, by event."""
    tasks, summed = trace.columns(_TASKS_SQL), trace.columns(_SUMMED_SQL)
    groups = Groups.by(tasks["collective"])
    moving = groups.union(tasks["ts"], tasks["stop"], groups.index)
    events = np.concatenate([tasks["collective"][groups.first], summed["event"]])
    order = np.argsort(events, kind="stable")
    return events[order], np.concatenate([moving, summed["ns"]])[order]


def _shortest(trace: Trace) -> tuple[Times, Times, NDArray[np.int32], NDArray[np.int64]]:
    calls, matched = trace.whole.once(calls_of), trace.job.once(matching)
    return calls["event"], *matched.of(calls), matched.last(calls)


def matching(job: Trace) -> Matching:
    """The collectives of all ranks of a trace, matched."""
    matched = Matching()
    matched.add(job.once(calls_of))
    matched.settle()
    return matched
